"""Rows and the domain, both ways. Pure: no connection, no clock.

Keys of the dictionaries are names of columns. Slots are JSON keys as text ("1" to "7").
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from core.domain.draft import NarrativeDraft, SourceSnapshot
from core.domain.errors import ErrorCode
from core.domain.event import Event, Role
from core.domain.ids import ArtifactId, BlockId, DraftId, EventId, RequestId, SessionId
from core.domain.limits import EARLIEST_TIME, Limits
from core.domain.memory import BlockType, MemoryBlock, compact_json
from core.domain.prompt_range import PromptRange
from core.domain.request import Artifact, Content, Request, RequestRecord, RequestState, Usage
from core.domain.request_kinds import RequestKind
from core.domain.save_point import SavePoint
from core.domain.session import Session, SessionState, SessionSummary, Tab1Inputs, title_from
from core.domain.slot import Slot

Values = dict[str, Any]


def session_values(session: Session) -> Values:
    """Return the row of a session, but for who writes in it: only `acquire` moves that."""
    limits = asdict(session.limits)
    return {
        "id": session.id,
        "title": session.title,
        "script_key": session.script_key,
        "state": session.state.value,
        "is_ending": session.is_ending,
        "prompt_index": session.prompt_index,
        "boundary": session.boundary,
        "slots": [int(slot) for slot in session.slots],
        "names": _by_slot(session.names),
        "tab1_locked": session.tab1_locked,
        "next_slot": int(session.next_slot),
        "definition": session.definition,
        "target_words": session.target_words,
        "chunk_size": limits.pop("chunk_size"),
        "limits": limits,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "archived_at": session.archived_at,
    }


def to_session(row: Any) -> Session:
    """Return the session of a row."""
    known = {item.name for item in fields(Limits)}
    limits = {name: value for name, value in row.limits.items() if name in known}
    return Session(
        id=SessionId(row.id),
        title=row.title,
        script_key=row.script_key,
        state=SessionState(row.state),
        is_ending=row.is_ending,
        prompt_index=row.prompt_index,
        boundary=row.boundary,
        slots=tuple(map(Slot, row.slots)),
        names=_to_slots(row.names),
        tab1_locked=row.tab1_locked,
        next_slot=Slot(row.next_slot),
        definition=row.definition,
        target_words=row.target_words,
        limits=Limits(**limits, chunk_size=row.chunk_size),
        created_at=row.created_at,
        updated_at=row.updated_at,
        archived_at=row.archived_at,
    )


def to_summary(row: Any) -> SessionSummary:
    """Return one line of the chapter list; `chapter` and `world` need only be the texts' beginnings."""
    if not row.is_readable:
        return _unreadable(SessionId(row.id))
    return SessionSummary(
        id=SessionId(row.id),
        title=title_from(row.title, row.chapter or "", row.world or ""),
        state=SessionState(row.state),
        prompt_index=row.prompt_index,
        draft_count=row.draft_count,
        created_at=row.created_at,
        updated_at=row.updated_at,
        archived_at=row.archived_at,
    )


def _unreadable(session_id: SessionId) -> SessionSummary:
    return SessionSummary(
        id=session_id,
        title=f"Cannot be read: {session_id}",
        state=SessionState.DRAFT_TAB1,
        prompt_index=0,
        draft_count=0,
        created_at=EARLIEST_TIME,
        updated_at=EARLIEST_TIME,
        archived_at=None,
        is_readable=False,
    )


def tab1_values(session_id: SessionId, tab1: Tab1Inputs) -> Values:
    """Return the row of tab 1."""
    return {
        "session_id": session_id,
        "world": tab1.world,
        "chapter": tab1.chapter,
        "identities": _by_slot(tab1.identities),
    }


def to_tab1(row: Any) -> Tab1Inputs:
    """Return tab 1 of a row."""
    return Tab1Inputs(world=row.world, chapter=row.chapter, identities=_to_slots(row.identities))


def unsent_values(session_id: SessionId, slot: Slot, text: str) -> Values:
    """Return the row of the text that waits in a composer."""
    return {"session_id": session_id, "slot": int(slot), "text": text}


def save_slot_values(slot: SavePoint) -> Values:
    """Return the row of a save slot."""
    return {
        "session_id": slot.session_id,
        "number": slot.number,
        "label": slot.label,
        "taken_at": slot.taken_at,
        "prompt_index": slot.prompt_index,
        "state": slot.state.value,
        "document": slot.document,
        "sha256": slot.sha256,
    }


def to_save_slot(row: Any) -> SavePoint:
    """Return the save slot of a row; its content is checked when it is used."""
    return SavePoint(
        session_id=SessionId(row.session_id),
        number=row.number,
        label=row.label,
        taken_at=row.taken_at,
        prompt_index=row.prompt_index,
        state=SessionState(row.state),
        document=row.document,
        sha256=row.sha256,
    )


def event_values(event: Event) -> Values:
    """Return the row of an event."""
    return {
        "session_id": event.session_id,
        "event_id": event.id,
        "prompt_index": event.prompt_index,
        "ordinal": event.ordinal,
        "role": event.role.value,
        "slot": _int(event.slot),
        "text": event.text,
        "metadata": event.metadata,
        "created_at": event.created_at,
    }


def to_event(row: Any) -> Event:
    """Return the event of a row."""
    return Event(
        id=EventId(row.event_id),
        session_id=SessionId(row.session_id),
        prompt_index=row.prompt_index,
        ordinal=row.ordinal,
        role=Role(row.role),
        slot=_slot(row.slot),
        text=row.text,
        metadata=row.metadata,
        created_at=row.created_at,
    )


def block_values(block: MemoryBlock) -> Values:
    """Return the row of a memory block."""
    return {
        "session_id": block.session_id,
        "block_id": block.id,
        "type": block.type.value,
        "from_prompt": block.first,
        "to_prompt": block.last,
        "ordinal": block.ordinal,
        "json_text": block.json_text or compact_json(block.payload),
        "created_at": block.created_at,
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
        ordinal=row.ordinal,
        payload=payload,
        json_text="" if row.json_text == compact_json(payload) else row.json_text,
        created_at=row.created_at,
    )


def draft_values(draft: NarrativeDraft) -> Values:
    """Return the row of a draft."""
    return {
        "session_id": draft.session_id,
        "draft_id": draft.id,
        "version": draft.version,
        "request_id": draft.request_id,
        "definition": draft.definition,
        "target_words": draft.target_words,
        "source_prompt_index": draft.source.prompt_index,
        "source_block_ids": list(draft.source.block_ids),
        "model": draft.model,
        "text": draft.text,
        "created_at": draft.created_at,
    }


def to_draft(row: Any) -> NarrativeDraft:
    """Return the draft of a row."""
    return NarrativeDraft(
        id=DraftId(row.draft_id),
        session_id=SessionId(row.session_id),
        version=row.version,
        request_id=None if row.request_id is None else RequestId(row.request_id),
        definition=row.definition,
        target_words=row.target_words,
        source=SourceSnapshot(row.source_prompt_index, tuple(map(BlockId, row.source_block_ids))),
        model=row.model,
        text=row.text,
        created_at=row.created_at,
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
        "slot": _int(record.slot),
        "text": record.text,
        "from_prompt": None if record.prompts is None else record.prompts.first,
        "to_prompt": None if record.prompts is None else record.prompts.last,
        "attempts": request.attempts,
        "retry_after": request.retry_after,
        "error_code": _code_text(request.error_code),
        "error_message": request.error_message,
        "created_at": request.created_at,
        "updated_at": request.updated_at,
    }


def to_request(row: Any) -> Request:
    """Return the request of a row; raise ValueError where its fields are not those of its kind."""
    record = RequestRecord(
        id=RequestId(row.request_id),
        session_id=SessionId(row.session_id),
        kind=RequestKind(row.kind),
        state=RequestState(row.state),
        slot=_slot(row.slot),
        text=row.text,
        prompts=None if row.from_prompt is None else PromptRange(row.from_prompt, row.to_prompt),
        attempts=row.attempts,
        retry_after=row.retry_after,
        error_code=_code(row.error_code),
        error_message=row.error_message,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
    return record.request(row.priority)


def content_values(session_id: SessionId, content: Content) -> Values:
    """Return the row of a content."""
    return {"session_id": session_id, "hash": content.hash, "text": content.text}


def artifact_values(artifact: Artifact) -> Values:
    """Return the row of an artifact."""
    return {
        "session_id": artifact.session_id,
        "artifact_id": artifact.id,
        "request_id": artifact.request_id,
        "attempt": artifact.attempt,
        "call": artifact.call,
        "agent_id": artifact.agent_id,
        "provider": artifact.provider,
        "model": artifact.model,
        "prompt_version": artifact.prompt_version,
        "input_hash": artifact.input_hash,
        "input_ref": artifact.input_ref,
        "output_ref": artifact.output_ref,
        **asdict(artifact.usage),
        "first_token_ms": artifact.first_token_ms,
        "total_ms": artifact.total_ms,
        "finish_reason": artifact.finish_reason,
        "error_code": _code_text(artifact.error_code),
        "error_message": artifact.error_message,
        "left_out": list(artifact.left_out),
        "created_at": artifact.created_at,
    }


def to_artifact(row: Any) -> Artifact:
    """Return the artifact of a row."""
    return Artifact(
        id=ArtifactId(row.artifact_id),
        session_id=SessionId(row.session_id),
        request_id=RequestId(row.request_id),
        attempt=row.attempt,
        call=row.call,
        agent_id=row.agent_id,
        provider=row.provider,
        model=row.model,
        prompt_version=row.prompt_version,
        input_hash=row.input_hash,
        input_ref=row.input_ref,
        output_ref=row.output_ref,
        usage=Usage(
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cached_tokens=row.cached_tokens,
            reasoning_tokens=row.reasoning_tokens,
        ),
        first_token_ms=row.first_token_ms,
        total_ms=row.total_ms,
        finish_reason=row.finish_reason,
        error_code=_code(row.error_code),
        error_message=row.error_message,
        left_out=tuple(row.left_out),
        created_at=row.created_at,
    )


def _by_slot(texts: Mapping[Slot, str]) -> dict[str, str]:
    return {str(int(slot)): text for slot, text in texts.items()}


def _to_slots(texts: Mapping[str, str]) -> dict[Slot, str]:
    return {Slot(int(slot)): text for slot, text in sorted(texts.items())}


def _int(slot: Slot | None) -> int | None:
    return None if slot is None else int(slot)


def _slot(number: int | None) -> Slot | None:
    return None if number is None else Slot(number)


def _code_text(code: ErrorCode | None) -> str | None:
    return None if code is None else code.value


def _code(text: str | None) -> ErrorCode | None:
    return None if text is None else ErrorCode(text)
