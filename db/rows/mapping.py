"""Rows and the domain, both ways. Pure: no connection, no clock.

Keys of the dictionaries are names of columns. Slots are JSON keys as text ("1" to "7"). Fields that a record
and its row share by name and value are listed once, for both directions.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from decimal import Decimal
from typing import Any

from core.domain.audience import Audience
from core.domain.errors import ErrorCode
from core.domain.ids import ArtifactId, BlockId, DraftId, EventId, RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.cost import Cost, UnitPrices
from core.domain.requests.request import Artifact, Content, Request, RequestRecord, RequestState, Usage
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.language import Language
from core.domain.session.limits import EARLIEST_TIME, Limits
from core.domain.session.session import Session, SessionSummary, read_away, title_from
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft, SourceSnapshot
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType, MemoryBlock, compact_json
from core.domain.story.reply_uses import LORE, LoreUse, uses_of
from core.domain.story.save_point import SavePoint
from core.domain.story.secret import Secret

Values = dict[str, Any]

_SESSION = (
    *("title", "script_key", "is_ending", "prompt_index", "boundary", "tab1_locked"),
    *("definition", "target_words", "created_at", "updated_at", "archived_at"),
    *("canon_version", "branched_at", "hint_after", "adds_unasked", "keeps_bank"),
)
_SUMMARY = ("prompt_index", "draft_count", "updated_at", "archived_at")
_SAVE_SLOT = ("number", "label", "taken_at", "prompt_index", "document", "sha256")
_EVENT = ("prompt_index", "take", "ordinal", "text", "metadata", "created_at")
_DRAFT = ("version", "definition", "target_words", "model", "text", "created_at")
_BLOCK = ("ordinal", "revision", "made_from", "is_by_gm", "created_at")
_REQUEST = (
    "text",
    "model",
    "continues",
    "follows",
    "attempts",
    "retry_after",
    "error_message",
    "created_at",
    "updated_at",
)
_ARTIFACT = (
    *("attempt", "call", "agent_id", "provider", "model", "prompt_version", "input_hash", "input_ref"),
    *("output_ref", "first_token_ms", "total_ms", "finish_reason", "error_message", "created_at"),
)
_USAGE = tuple(field.name for field in fields(Usage))
_PRICES = tuple(field.name for field in fields(UnitPrices))


def _shared(source: Any, names: tuple[str, ...]) -> Values:
    """Return these fields of a record, or columns of a row, by their common names."""
    return {name: getattr(source, name) for name in names}


def session_values(session: Session) -> Values:
    """Return the row of a session, but for who writes in it: only `acquire` moves that."""
    limits = asdict(session.limits)
    return {
        "id": session.id,
        "state": session.state.value,
        "slots": [int(slot) for slot in session.slots],
        "names": by_slot(session.names),
        "next_slot": int(session.next_slot),
        "branched_from": session.branched_from,
        "present": session.present.mask,
        "away": {str(int(slot)): back_at for slot, back_at in session.away.items()},
        "may_be_silent": session.may_be_silent.mask,
        "may_add": session.may_add.mask,
        "language": session.language.value,
        "pinned": list(session.pinned),
        "private_pins": {lock: label.mask for lock, label in session.private_pins.items()},
        "struck": list(session.struck),
        "chunk_size": limits.pop("chunk_size"),
        "limits": limits,
        **_shared(session, _SESSION),
    }


def to_session(row: Any) -> Session:
    """Return the session of a row."""
    known = {item.name for item in fields(Limits)}
    limits = {name: value for name, value in row.limits.items() if name in known}
    return Session(
        id=SessionId(row.id),
        state=SessionState(row.state),
        slots=tuple(map(Slot, row.slots)),
        names=to_slots(row.names),
        next_slot=Slot(row.next_slot),
        branched_from=None if row.branched_from is None else SessionId(row.branched_from),
        present=Audience.of_mask(row.present),
        away=read_away(row.away),
        may_be_silent=Audience.of_mask(row.may_be_silent),
        may_add=Audience.of_mask(row.may_add),
        language=Language(row.language),
        pinned=tuple(row.pinned),
        private_pins={lock: Audience.of_mask(mask) for lock, mask in row.private_pins.items()},
        struck=tuple(row.struck),
        limits=Limits(**limits, chunk_size=row.chunk_size),
        **_shared(row, _SESSION),
    )


def to_summary(row: Any) -> SessionSummary:
    """Return one line of the chapter list; `chapter` and `world` need only be the texts' beginnings."""
    if not row.is_readable:
        return _unreadable(SessionId(row.id))
    return SessionSummary(
        id=SessionId(row.id),
        title=title_from(row.title, row.chapter or "", row.world or ""),
        state=SessionState(row.state),
        **_shared(row, _SUMMARY),
    )


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


def secret_values(session_id: SessionId, secret: Secret) -> Values:
    """Return the row of a secret."""
    return {
        "session_id": session_id,
        "number": secret.number,
        "text": secret.text,
        "known_by": secret.known_by.mask,
        "groups": list(secret.groups),
        "reveal_at": secret.reveal_at,
        "reveal_to": None if secret.reveal_to is None else secret.reveal_to.mask,
    }


def to_secret(values: Mapping[str, Any]) -> Secret:
    """Return the secret of a row."""
    reveal_to = values["reveal_to"]
    return Secret(
        number=values["number"],
        text=values["text"],
        known_by=Audience.of_mask(values["known_by"]),
        groups=tuple(values["groups"]),
        reveal_at=values["reveal_at"],
        reveal_to=None if reveal_to is None else Audience.of_mask(reveal_to),
    )


def unsent_values(session_id: SessionId, slot: Slot, text: str) -> Values:
    """Return the row of the text that waits in a composer."""
    return {"session_id": session_id, "slot": int(slot), "text": text}


def save_slot_values(slot: SavePoint) -> Values:
    """Return the row of a save slot."""
    return {"session_id": slot.session_id, "state": slot.state.value, **_shared(slot, _SAVE_SLOT)}


def to_save_slot(row: Any) -> SavePoint:
    """Return the save slot of a row; its content is checked when it is used."""
    return SavePoint(
        session_id=SessionId(row.session_id), state=SessionState(row.state), **_shared(row, _SAVE_SLOT)
    )


def event_values(event: Event) -> Values:
    """Return the row of an event."""
    return {
        "session_id": event.session_id,
        "event_id": event.id,
        "role": event.role.value,
        "slot": event.slot,
        "audience": event.audience.mask,
        **_shared(event, _EVENT),
    }


def to_event(row: Any) -> Event:
    """Return the event of a row."""
    return Event(
        id=EventId(row.event_id),
        session_id=SessionId(row.session_id),
        role=Role(row.role),
        slot=_slot(row.slot),
        audience=Audience.of_mask(row.audience),
        **_shared(row, _EVENT),
    )


def to_lore_uses(row: Any) -> tuple[LoreUse, ...]:
    """Return the active entries of lorebooks that a reply names."""
    return tuple(uses_of(Slot(row.slot), row.prompt_index, {LORE: row.lore}))


def block_values(block: MemoryBlock) -> Values:
    """Return the row of a memory block."""
    return {
        "session_id": block.session_id,
        "block_id": block.id,
        "type": block.type.value,
        "from_prompt": block.first,
        "to_prompt": block.last,
        "json_text": block.json_text or compact_json(block.payload),
        "audience": block.audience.mask,
        **_shared(block, _BLOCK),
    }


def canon_values(session_id: SessionId, prompt_index: int, take: int) -> Values:
    """Return the row of the take that counts at a prompt."""
    return {"session_id": session_id, "prompt_index": prompt_index, "take": take}


def memory_canon_values(block: MemoryBlock) -> Values:
    """Return the row that makes a block the one that counts at its place."""
    return {
        "session_id": block.session_id,
        "to_prompt": block.last,
        "ordinal": block.ordinal,
        "from_prompt": block.first,
        "block_id": block.id,
    }


def to_block(row: Any) -> MemoryBlock:
    """Return the memory block of a row."""
    payload = json.loads(row.json_text)
    return MemoryBlock(
        id=BlockId(row.block_id),
        session_id=SessionId(row.session_id),
        type=BlockType(row.type),
        first=row.from_prompt,
        last=row.to_prompt,
        payload=payload,
        json_text="" if row.json_text == compact_json(payload) else row.json_text,
        audience=Audience.of_mask(row.audience),
        **_shared(row, _BLOCK),
    )


def draft_values(draft: NarrativeDraft) -> Values:
    """Return the row of a draft."""
    return {
        "session_id": draft.session_id,
        "draft_id": draft.id,
        "request_id": draft.request_id,
        "source_prompt_index": draft.source.prompt_index,
        "source_block_ids": list(draft.source.block_ids),
        **_shared(draft, _DRAFT),
    }


def to_draft(row: Any) -> NarrativeDraft:
    """Return the draft of a row."""
    return NarrativeDraft(
        id=DraftId(row.draft_id),
        session_id=SessionId(row.session_id),
        request_id=None if row.request_id is None else RequestId(row.request_id),
        source=SourceSnapshot(row.source_prompt_index, tuple(map(BlockId, row.source_block_ids))),
        **_shared(row, _DRAFT),
    )


def request_values(request: Request) -> Values:
    """Return the row of a request."""
    record = RequestRecord.of(request)
    return {
        "session_id": request.session_id,
        "request_id": request.id,
        "kind": request.kind.value,
        "state": request.state.value,
        "priority": request.priority,
        "uncounted": request.uncounted,
        "slot": record.slot,
        "audience": record.audience.mask,
        "then_slots": [int(slot) for slot in record.then],
        "from_prompt": None if record.prompts is None else record.prompts.first,
        "to_prompt": None if record.prompts is None else record.prompts.last,
        "error_code": request.error_code,
        **_shared(record, _REQUEST),
    }


def to_request(row: Any) -> Request:
    """Return the request of a row; raise ValueError where its fields are not those of its kind."""
    record = RequestRecord(
        id=RequestId(row.request_id),
        session_id=SessionId(row.session_id),
        kind=RequestKind(row.kind),
        state=RequestState(row.state),
        slot=_slot(row.slot),
        audience=Audience.of_mask(row.audience),
        then=tuple(map(Slot, row.then_slots)),
        prompts=None if row.from_prompt is None else PromptRange(row.from_prompt, row.to_prompt),
        error_code=_code(row.error_code),
        **_shared(row, _REQUEST),
    )
    return record.request(row.priority, row.uncounted)


def content_values(session_id: SessionId, content: Content) -> Values:
    """Return the row of a content."""
    return {"session_id": session_id, "hash": content.hash, "text": content.text}


def artifact_values(artifact: Artifact) -> Values:
    """Return the row of an artifact."""
    return {
        "session_id": artifact.session_id,
        "artifact_id": artifact.id,
        "request_id": artifact.request_id,
        **asdict(artifact.usage),
        "error_code": artifact.error_code,
        "left_out": list(artifact.left_out),
        **_cost_values(artifact.cost),
        **_shared(artifact, _ARTIFACT),
    }


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


def to_artifact(row: Any) -> Artifact:
    """Return the artifact of a row."""
    return Artifact(
        id=ArtifactId(row.artifact_id),
        session_id=SessionId(row.session_id),
        request_id=RequestId(row.request_id),
        usage=Usage(**_shared(row, _USAGE)),
        error_code=_code(row.error_code),
        left_out=tuple(row.left_out),
        cost=_to_cost(row),
        **_shared(row, _ARTIFACT),
    )


def by_slot(texts: Mapping[Slot, str]) -> dict[str, str]:
    """Return texts by slot as JSON has them."""
    return {str(int(slot)): text for slot, text in texts.items()}


def to_slots(texts: Mapping[str, str]) -> dict[Slot, str]:
    """Return texts by slot, of JSON."""
    return {Slot(int(slot)): text for slot, text in sorted(texts.items())}


def _slot(number: int | None) -> Slot | None:
    return None if number is None else Slot(number)


def _code(text: str | None) -> ErrorCode | None:
    return None if text is None else ErrorCode(text)
