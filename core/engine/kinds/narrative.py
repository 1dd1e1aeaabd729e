"""Builds the chapter's prose in one call, or in parts when the input does not fit the model."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from core.agents.answers.prose import unfenced
from core.config.models.model_config import ModelConfig, PromptStyle
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import DraftId, new_uuid
from core.domain.requests.request import NarrativeRequest
from core.domain.session.session import Session
from core.domain.session.state_machine import Command
from core.domain.story.draft import NarrativeDraft, SourceSnapshot
from core.engine.changes.moves import move
from core.engine.kinds.base import Job, KindHandler
from core.engine.kinds.outcome import Failed, NarrativeMade
from core.gateway.call_records import CallRecords
from core.gateway.model_gateway import CallResult
from core.storage.bank_store import BankStore
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.analysis.repeated_sentences import sentences_of, without_repeated_sentences
from core.text.delimiters import names_section
from core.text.prose import cut_in_words, to_last_sentence

_NOTHING_LEFT: Final = (
    "Nothing of the answer is part of a story; nothing is lost, retry, or choose another model."
)
_NOTHING_PLAYED: Final = "No prompt was played in this chapter; there is nothing to write."


class NarrativeHandler(KindHandler[NarrativeRequest, NarrativeMade]):
    """Handles narrative requests."""

    stores_its_calls = True

    async def run(self, job: Job, request: NarrativeRequest) -> tuple[NarrativeMade | Failed, CallRecords]:
        """Return the complete text.

        The provenance of each part is stored at once, so that a later attempt reuses, rather than pays for,
        every part whose input is unchanged.
        """
        session = job.snapshot.session
        events = await job.store.canon(session.id)
        blocks = await job.store.blocks(session.id)
        quotes = await kept_quotes(job.store.bank, session)
        knowledge = job.snapshot.chapter_known_to(request.viewpoint, blocks, events, quotes)
        plan = job.builder.plan_narrative(knowledge, session.definition, session.target_words)
        if not plan:
            raise StoryEngineError(ErrorCode.ILLEGAL_COMMAND, _NOTHING_PLAYED)
        canon = "\n".join(event.text for event in knowledge.events)
        texts: list[str] = []
        model = ""
        for part in plan:
            context = job.builder.narrative_part(
                knowledge, part, session.definition, texts[-1] if texts else ""
            )
            choice = job.calls.config_of(context)
            earlier = await job.calls.on_record.accepted(context, choice)
            prose = "" if earlier is None else _prose(earlier.text, choice, texts, canon)[0]
            is_nothing = part is plan[-1] and not texts
            if earlier is not None and (prose or not is_nothing):
                model = earlier.model
                texts += filter(None, (prose,))
                continue
            result = await job.calls.make(context)
            error = _error_in(result, choice.style)
            if error is not None:
                return Failed(error, result.retry_after), result.call_records.marked(error)
            prose, cut = _prose(result.text, choice, texts, canon)
            if is_nothing and not prose:  # not kept as its answer: it is asked for again
                error = StoryEngineError(ErrorCode.LLM_ERROR, _NOTHING_LEFT)
                return Failed(error), result.call_records.noting(cut).marked(error)
            await job.calls.keep(result.call_records.noting(cut))
            texts += filter(None, (prose,))
            model = result.model
        block_ids = tuple(block.id for block in blocks if request.viewpoint in (None, *block.audience))
        whole = "\n\n".join(texts)
        return NarrativeMade(whole, model, session.definition, session.target_words, block_ids), CallRecords()

    def settle(
        self, snapshot: Snapshot, done: NarrativeRequest, made: NarrativeMade, now: datetime
    ) -> Changes:
        """Store the text as the next draft."""
        session = move(snapshot, snapshot.session, Command.NARRATIVE_STORED, now)
        draft = NarrativeDraft(
            id=DraftId(new_uuid()),
            session_id=session.id,
            version=snapshot.draft_count + 1,
            request_id=done.id,
            definition=made.definition,
            target_words=made.target_words,
            source=SourceSnapshot(session.prompt_index, made.block_ids),
            model=made.model,
            text=made.text,
            created_at=now,
        )
        return Changes(session_id=session.id, session=session, drafts=(draft,), requests=(done,))

    def is_done(self, request: NarrativeRequest, changes: Changes) -> bool:
        """Whether one of the new drafts was made by the request."""
        return any(draft.request_id == request.id for draft in changes.drafts)


async def kept_quotes(bank: BankStore, session: Session) -> Sequence[Item]:
    """Return the quotes of a chapter that the GM made, confirmed or pinned; none without a memory bank."""
    if not session.keeps_bank:
        return ()
    quotes = await bank.items(session.id, kinds=(ItemKind.QUOTE,))
    return [quote for quote in quotes if quote.is_kept]


def _error_in(result: CallResult, style: PromptStyle) -> StoryEngineError | None:
    """Return why a text cannot be used: a call that failed, or was cut off.

    Very small models do not stop by themselves: their text is kept up to its last complete sentence.
    """
    if result.error is None and result.finish_reason == "length":
        return None if style is PromptStyle.SMALL else StoryEngineError(ErrorCode.LLM_TRUNCATED)
    return result.error


def _prose(text: str, choice: ModelConfig, told: Sequence[str], canon: str) -> tuple[str, tuple[str, ...]]:
    """Return what is kept of the answer for a part, and in words what is not; `told` are the parts before.

    A code fence around the whole is not. Only a small model's answer is cut: where it breaks off, where it
    speaks of its input, and where it repeats what the chapter has. Of a part that only repeats, nothing is
    left.
    """
    text = unfenced(text)
    if choice.style is not PromptStyle.SMALL:
        return text, ()
    whole = to_last_sentence(text)
    cut = cut_in_words("after its last whole sentence", text, whole)
    sentences = list(sentences_of(whole))
    if strange := sum(map(names_section, sentences)):
        whole = "".join(one for one in sentences if not names_section(one)).strip()
        cut += (f"Sentences that speak of the input, not of the story: {strange:,}",)
    if not choice.avoids_repeats:
        return whole, cut
    prose = without_repeated_sentences(whole, told, canon)
    return prose.text, (*cut, *prose.in_words)
