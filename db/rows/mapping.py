"""Rows of sessions, the log, memory and calls, and the domain, both ways. Pure: no connection, no clock."""

import json
from dataclasses import asdict, fields
from decimal import Decimal
from typing import Any, Final

from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import Cost, UnitPrices
from core.domain.requests.request import Artifact, Content, Request, RequestRecord, Usage
from core.domain.session.limits import EARLIEST_TIME, Limits
from core.domain.session.session import Session, SessionSummary, read_away, title_from
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft, SourceSnapshot
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock, compact_json
from core.domain.story.reply_uses import LORE, LoreUse, uses_of
from core.domain.story.save_point import SavePoint
from core.domain.story.secret import Secret
from db.rows.row_mapping import Form, RowMapping, Values, with_numbers

EVENTS: Final = RowMapping(Event, columns={"id": "event_id"})
SECRETS: Final = RowMapping(Secret)
SAVE_POINTS: Final = RowMapping(SavePoint)
"""The content of a save point is checked when it is used."""
CONTENTS: Final = RowMapping(Content)
_SESSIONS: Final = RowMapping(Session, forms={"away": Form(with_numbers, read_away)}, beside=["limits"])
_SUMMARIES: Final = RowMapping(SessionSummary)
_BLOCKS: Final = RowMapping(
    MemoryBlock,
    columns={"id": "block_id", "first": "from_prompt", "last": "to_prompt"},
    beside=["payload", "json_text"],
)
_DRAFTS: Final = RowMapping(NarrativeDraft, columns={"id": "draft_id"}, beside=["source"])
_REQUESTS: Final = RowMapping(
    RequestRecord, columns={"id": "request_id", "then": "then_slots"}, beside=["prompts"]
)
_ARTIFACTS: Final = RowMapping(Artifact, columns={"id": "artifact_id"}, beside=["usage", "cost"])
_USAGES: Final = RowMapping(Usage)
_PRICES: Final = tuple(field.name for field in fields(UnitPrices))


def session_values(session: Session) -> Values:
    """Return the row of a session, but for who writes in it: only `acquire` moves that."""
    limits = asdict(session.limits)
    return {**_SESSIONS.values(session), "chunk_size": limits.pop("chunk_size"), "limits": limits}


def to_session(row: Any) -> Session:
    """Return the session of a row."""
    known = {item.name for item in fields(Limits)}
    limits = {name: value for name, value in row.limits.items() if name in known}
    return _SESSIONS.record(row, limits=Limits(**limits, chunk_size=row.chunk_size))


def to_summary(row: Any) -> SessionSummary:
    """Return one line of the chapter list; `chapter` and `world` need only be the texts' beginnings."""
    if not row.is_readable:
        return _unreadable(SessionId(row.id))
    return _SUMMARIES.record(row, title=title_from(row.title, row.chapter or "", row.world or ""))


def _unreadable(session_id: SessionId) -> SessionSummary:
    return SessionSummary(
        id=session_id,
        title=f"Cannot be read: {session_id}",
        state=SessionState.DRAFT_TAB1,
        prompt_index=0,
        draft_count=0,
        updated_at=EARLIEST_TIME,
        archived_at=None,
        is_readable=False,
    )


def to_lore_uses(row: Any) -> tuple[LoreUse, ...]:
    """Return the active entries of lorebooks that a reply names."""
    return tuple(uses_of(Slot(row.slot), row.prompt_index, {LORE: row.lore}))


def block_values(block: MemoryBlock) -> Values:
    """Return the row of a memory block."""
    return {**_BLOCKS.values(block), "json_text": block.json_text or compact_json(block.payload)}


def memory_canon_values(block: MemoryBlock) -> Values:
    """Return the row that makes a block the one that counts at its place."""
    row = _BLOCKS.values(block)
    return {name: row[name] for name in ("session_id", "to_prompt", "ordinal", "from_prompt", "block_id")}


def to_block(row: Any) -> MemoryBlock:
    """Return the memory block of a row."""
    payload = json.loads(row.json_text)
    json_text = "" if row.json_text == compact_json(payload) else row.json_text
    return _BLOCKS.record(row, payload=payload, json_text=json_text)


def draft_values(draft: NarrativeDraft) -> Values:
    """Return the row of a draft."""
    source = draft.source
    return {
        **_DRAFTS.values(draft),
        "source_prompt_index": source.prompt_index,
        "source_block_ids": list(source.block_ids),
    }


def to_draft(row: Any) -> NarrativeDraft:
    """Return the draft of a row."""
    return _DRAFTS.record(row, source=SourceSnapshot(row.source_prompt_index, tuple(row.source_block_ids)))


def request_values(request: Request) -> Values:
    """Return the row of a request."""
    record = RequestRecord.of(request)
    prompts = record.prompts
    return {
        **_REQUESTS.values(record),
        "priority": request.priority,
        "uncounted": request.uncounted,
        "from_prompt": None if prompts is None else prompts.first,
        "to_prompt": None if prompts is None else prompts.last,
    }


def to_request(row: Any) -> Request:
    """Return the request of a row; raise ValueError where its fields are not those of its kind."""
    prompts = None if row.from_prompt is None else PromptRange(row.from_prompt, row.to_prompt)
    return _REQUESTS.record(row, prompts=prompts).request(row.priority, row.uncounted)


def artifact_values(artifact: Artifact) -> Values:
    """Return the row of an artifact."""
    return {
        **_ARTIFACTS.values(artifact),
        **asdict(artifact.usage),
        **_cost_values(artifact.cost),
    }


def to_artifact(row: Any) -> Artifact:
    """Return the artifact of a row."""
    return _ARTIFACTS.record(row, usage=_USAGES.record(row), cost=_to_cost(row))


def _cost_values(cost: Cost | None) -> Values:
    prices = cost and cost.prices
    return {
        "cost": cost and _digits(cost.amount),
        "price_source": cost and cost.source,
        **{f"{name}_price": _digits(getattr(prices, name, None)) for name in _PRICES},
    }


def _digits(amount: Decimal | None) -> str | None:
    """Return an amount as text: rows travel as JSON, whose numbers are binary fractions."""
    return None if amount is None else str(amount)


def _to_cost(row: Any) -> Cost | None:
    if row.price_source is None:
        return None
    prices = {name: getattr(row, f"{name}_price") for name in _PRICES}
    return Cost(
        amount=row.cost,
        source=row.price_source,
        prices=None if row.input_price is None else UnitPrices(**prices),
    )
