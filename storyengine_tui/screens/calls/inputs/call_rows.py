"""Text about the calls of a session: rows, totals and passages from artifacts and requests (design 4)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.agents.role.prompt_file import SEGMENTS, in_place_of_text
from core.context.lore import NOTE_ROLE, NOTES, read_notes
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import LOCAL, PROVIDER, YOURS, Cost
from core.domain.requests.request import (
    Artifact,
    BackgroundRequest,
    ReplyRequest,
    Request,
    SummaryRequest,
    TestCallRequest,
)
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.gateway.embedding_records import EMBEDDING_VERSION
from core.ledger.sums import LedgerEntry, agent_name, may_be_billed, sum_of, total_text
from core.text.cleaning import clean, clean_line
from core.text.numbers import counted
from storyengine_tui.screens.calls.inputs.passages import passages_of_lore, passages_of_window
from storyengine_tui.widgets.elapsed import elapsed_text, shown_time
from storyengine_tui.widgets.reading.memory_outline import Passage

UNKNOWN = "–"
EMBEDDING: Final = "Embedding"


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call, with the request that it was made for."""

    number: int
    artifact: Artifact
    request: Request | None
    may_be_billed: bool = False
    """Whether its chapter has calls of a service."""

    @property
    def entry(self) -> LedgerEntry:
        """The call in the ledger of its chapter."""
        return LedgerEntry("", self.number, self.artifact, self.request, "", self.may_be_billed)

    @property
    def makes_vectors(self) -> bool:
        """Whether it made vectors of texts, for which no agent is asked."""
        return self.artifact.prompt_version == EMBEDDING_VERSION


def calls_of(artifacts: Sequence[Artifact], requests: Sequence[Request]) -> list[CallRow]:
    """Return the calls, oldest first, numbered from 1."""
    by_id = {request.id: request for request in requests}
    is_billed = may_be_billed(artifacts)
    return [
        CallRow(number, artifact, by_id.get(artifact.request_id), is_billed)
        for number, artifact in enumerate(artifacts, start=1)
    ]


def agent_of(call: CallRow, session: Session) -> str:
    """Return the number and the name of the agent; vectors are made without one."""
    if call.makes_vectors:
        return EMBEDDING
    number = call.artifact.agent_id
    return f"{number} {clean_line(agent_name(session, number))}"


def prompt_of(call: CallRow) -> str:
    """Return the number of a reply's prompt, the prompts that a summary covers, or a word for the work."""
    match call.request:
        case None:
            return UNKNOWN
        case (
            SummaryRequest(prompts=prompts)
            | ReplyRequest(prompts=PromptRange() as prompts)
            | BackgroundRequest(kind=RequestKind.AFTERTHOUGHT, prompts=PromptRange() as prompts)
        ):
            return str(prompts)
        case request:
            return request.spec.word or UNKNOWN


def outcome_of(call: CallRow) -> str:
    """Return how the call ended, in a word or two."""
    artifact = call.artifact
    if artifact.error_code is not None:
        return artifact.error_code.value.removeprefix("LLM_").replace("_", " ").lower()
    return "ok" if artifact.finish_reason in ("", "stop") else f"ok, {clean_line(artifact.finish_reason)}"


def seconds(milliseconds: int | None) -> str:
    """Return a time such as `0.84 s`."""
    return UNKNOWN if milliseconds is None else f"{milliseconds / 1000:,.2f} s"


def _number(count: int | None) -> str:
    return UNKNOWN if count is None else f"{count:,}"


def totals_of(calls: Sequence[CallRow]) -> str:
    """Return the totals of all calls, including failed ones, and without marks."""
    calls = [call for call in calls if not call.artifact.is_mark]
    artifacts = [call.artifact for call in calls]
    failed = sum(artifact.error_code is not None for artifact in artifacts)
    usages = [artifact.usage for artifact in artifacts]
    uncounted = sum(usage.input_tokens is None and usage.output_tokens is None for usage in usages)
    count = counted(len(calls), "call")
    cached = sum(usage.cached_tokens or 0 for usage in usages)
    parts = [
        f"{count}, {failed:,} of them failed or stopped" if failed else count,
        f"{sum(usage.input_tokens or 0 for usage in usages):,} tokens in"
        + (f" ({cached:,} from cache)" if cached else ""),
        f"{sum(usage.output_tokens or 0 for usage in usages):,} out",
        f"{elapsed_text(sum(artifact.total_ms or 0 for artifact in artifacts) / 1000)} with models",
    ]
    total = sum_of(call.entry for call in calls)
    if total.is_spent:
        parts.append(total_text(total))
    if uncounted:
        parts.append(f"{uncounted:,} without a count of tokens")
    return " · ".join(parts)


def _purpose_of(call: CallRow) -> str:
    """Return the work that a call was made for, with its prompts, such as `summary, prompts 1–7`."""
    match call.request:
        case None:
            return UNKNOWN
        case TestCallRequest():
            return "test call, no part of the story"
        case BackgroundRequest(kind=kind) if kind is not RequestKind.AFTERTHOUGHT:
            return f"{kind}, no part of the story"
        case (
            SummaryRequest(kind=kind, prompts=PromptRange() as prompts)
            | ReplyRequest(kind=kind, prompts=PromptRange() as prompts)
            | BackgroundRequest(kind=kind, prompts=PromptRange() as prompts)
        ):
            return f"{kind}, {prompts.named}"
        case request:
            return request.spec.purpose


def facts_of(call: CallRow, session: Session) -> str:
    """Return everything that is known of a call except for its texts, one fact a line."""
    artifact, usage = call.artifact, call.artifact.usage
    purpose = _purpose_of(call)
    # A call for vectors has no number, whatever becomes of it.
    which = "" if call.makes_vectors else ", ended before a call"
    lines = [
        f"{'' if call.makes_vectors else 'Agent '}{agent_of(call, session)} · {purpose} · "
        f"attempt {artifact.attempt}{f', call {artifact.call}' if artifact.call else which}",
        f"Model {clean_line(artifact.model)} · provider {artifact.provider} · "
        f"system prompt {clean_line(artifact.prompt_version)}",
        f"Tokens: {_number(usage.input_tokens)} in ({_number(usage.cached_tokens)} from cache), "
        f"{_number(usage.output_tokens)} out ({_number(usage.reasoning_tokens)} for reasoning)",
        f"First token after {seconds(artifact.first_token_ms)}, end after {seconds(artifact.total_ms)} · "
        f"{shown_time(artifact.created_at)}",
        f"Outcome: {artifact.error_code or artifact.finish_reason or 'ok'}"
        + (f": {clean(artifact.error_message)}" if artifact.error_message else ""),
    ]
    if artifact.cost is not None and artifact.cost.source != LOCAL:
        lines.append(_cost_line(artifact.cost))
    if artifact.left_out:
        lines.append("Left out: " + "; ".join(map(clean_line, artifact.left_out)))
    lines.append(f"Input SHA-256: {artifact.input_hash}")
    return "\n".join(lines)


def is_spent(calls: Sequence[CallRow]) -> bool:
    """Whether any of the calls cost money, as far as it is known."""
    return sum_of(call.entry for call in calls).is_spent


def _cost_line(cost: Cost) -> str:
    amount = "unknown, for want of a count of tokens" if cost.amount is None else f"${cost.amount:f}"
    said = {PROVIDER: "by the service's own bill", YOURS: "by your own prices"}
    line = f"Cost: {amount}, {said.get(cost.source, f'by the prices of {clean_line(cost.source)}')}"
    prices = cost.prices
    if prices is None:
        return line
    listed = [f"${prices.input:f} in", f"${prices.output:f} out"]
    if prices.cached_input is not None:
        listed.insert(1, f"${prices.cached_input:f} from cache")
    if prices.reasoning is not None:
        listed.append(f"${prices.reasoning:f} for reasoning")
    return f"{line} (for a million tokens: {', '.join(listed)})"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an input: its role, its name, and the hash of its text."""

    role: str
    name: str
    hash: str


def segments_of(manifest: str) -> list[Segment]:
    """Return the parts of an input from its manifest; an unreadable manifest has none."""
    try:
        listed = json.loads(manifest)
    except ValueError:
        return []
    rows = listed if isinstance(listed, list) else []
    return [
        Segment(*map(str, row))
        for row in rows
        if isinstance(row, list) and len(row) == len(Segment.__slots__)
    ]


def passages_of_call(
    call: CallRow, session: Session, segments: Sequence[Segment], texts: Mapping[str, str]
) -> list[Passage]:
    """Return facts, output, input and lore of a call; of a system prompt only its description."""
    output = texts.get(call.artifact.output_ref or "")
    passages = [
        _title("The call"),
        Passage(facts_of(call, session)),
        *passages_of_window(
            call.artifact, [(one.role, one.name, texts.get(one.hash, "")) for one in segments]
        ),
        _title("Output"),
        Passage(clean(output) if output else "Nothing came back."),
        _title("Input"),
    ]
    notes: list[Passage] = []
    for segment in segments:
        if segment.role == NOTE_ROLE:
            if segment.name == NOTES:
                notes = passages_of_lore(read_notes(texts.get(segment.hash, "")))
            continue
        heading = clean_line(f"{segment.role}: {segment.name}")
        text = clean(texts.get(segment.hash, "(this part is not stored)"))
        if segment.name in SEGMENTS and segment.hash in texts:
            version = clean_line(call.artifact.prompt_version)
            text = in_place_of_text(version, texts[segment.hash], was_sent=True)
        passages.append(Passage(f"{heading}\n{text}", len(heading)))
    return [*passages, *notes]


def _title(text: str) -> Passage:
    return Passage(text, len(text), is_title=True)
