"""From an outcome to everything that follows from it: pure, one `Changes` for one transaction (design 6)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from core.domain.draft import NarrativeDraft, SourceSnapshot
from core.domain.errors import ErrorCode
from core.domain.event import Event, Role
from core.domain.ids import BlockId, DraftId, EventId, RequestId, new_uuid
from core.domain.memory import BlockType, MemoryBlock
from core.domain.prompt_range import PromptRange
from core.domain.request import Request, RequestKind, RequestState
from core.domain.session import Session, SessionState
from core.domain.slot import Slot, following
from core.domain.state_machine import Command, facts_of, step
from core.engine.outcome import CallRecords, Failed, LockMade, NarrativeMade, Outcome, ReplyMade, SummaryMade
from core.store import Changes, Snapshot
from core.text.cleaning import clean

LONGEST_BACKOFF = 300.0
BETWEEN = "\n\n"
"""What stands in a composer between a text that came back and what was typed since."""

_FAILED_COMMANDS = {
    RequestKind.LOCK: Command.LOCK_FAILED,
    RequestKind.REPLY: Command.REPLY_FAILED,
    RequestKind.SUMMARY: Command.SUMMARY_FAILED,
    RequestKind.NARRATIVE: Command.NARRATIVE_FAILED,
}


def settle(
    snapshot: Snapshot,
    request: Request,
    outcome: Outcome,
    call_records: CallRecords,
    now: datetime,
    backoff: float,
) -> Changes:
    """Return what `outcome` makes of the session. `backoff` is the first waiting time in seconds."""
    if isinstance(outcome, Failed):
        return _failure(snapshot, request, outcome, call_records, now, backoff)
    done = replace(
        request,
        state=RequestState.DONE,
        retry_after=None,
        error_code=None,
        error_message="",
        updated_at=now,
    )
    match outcome:
        case LockMade():
            changes = _lock(snapshot, done, outcome, now)
        case ReplyMade():
            changes = _reply(snapshot, done, outcome, now)
        case SummaryMade():
            changes = _summary(snapshot, done, outcome, now)
        case NarrativeMade():
            changes = _narrative(snapshot, done, outcome, now)
        case _:
            assert_never(outcome)
    return replace(changes, artifacts=call_records.artifacts, contents=call_records.contents)


def move(snapshot: Snapshot, session: Session, command: Command, now: datetime) -> Session:
    """Return `session` moved by `command`, with the facts that its new values give.

    Raises IllegalCommandError when the table refuses.
    """
    facts = facts_of(
        session,
        snapshot.tab1,
        has_open_reply=snapshot.has_open_reply,
        summary_waits=_summary_waits(snapshot, session, now),
        early_failed=_failed_summary(snapshot, session) is not None,
    )
    target = step(session.state, command, facts)
    return replace(session, state=target.state, is_ending=target.is_ending, updated_at=now)


def summary_request(snapshot: Snapshot, session: Session, now: datetime) -> Request:
    """Return the request for the chunk that is due, or for what there is of one: an early summary.

    A failed one that begins there is taken again; an early one has grown by what was played since.
    """
    chunk = session.due_chunk or PromptRange(session.boundary + 1, session.prompt_index)
    failed = _failed_summary(snapshot, session)
    if failed is not None:
        return replace(failed, prompts=chunk, state=RequestState.PENDING, retry_after=None, updated_at=now)
    return Request(
        id=RequestId(new_uuid()),
        session_id=session.id,
        kind=RequestKind.SUMMARY,
        prompts=chunk,
        created_at=now,
        updated_at=now,
    )


def returned_unsent(snapshot: Snapshot, slot: Slot, text: str) -> str:
    """Return what the composer of `slot` holds once `text` is back: in front of what was typed since."""
    waiting = snapshot.unsent.get(slot, "")
    return f"{text}{BETWEEN}{waiting}" if waiting and waiting != text else text


def retry_time(request: Request, now: datetime) -> datetime | None:
    """Return when a failed summary is to be tried again by itself, None for never.

    A failure that was stored later than now was stored before the clock was set back: its time says
    nothing any more, and the summary is due.
    """
    if request.retry_after is not None and request.updated_at > now:
        return now
    return request.retry_after


def may_summarise_early(snapshot: Snapshot, now: datetime) -> bool:
    """Whether a summary of what is not in memory yet can be asked for now: none has failed just before."""
    failed = _failed_summary(snapshot, snapshot.session)
    due = None if failed is None else retry_time(failed, now)
    return snapshot.session.unsummarised > 0 and (failed is None or (due is not None and due <= now))


def _failed_summary(snapshot: Snapshot, session: Session) -> Request | None:
    """Return the failed summary that begins behind the boundary."""
    return next(
        (
            request
            for request in snapshot.requests
            if request.kind is RequestKind.SUMMARY
            and request.state is RequestState.FAILED
            and request.prompts is not None
            and request.prompts.first == session.boundary + 1
        ),
        None,
    )


def _summary_waits(snapshot: Snapshot, session: Session, now: datetime) -> bool:
    """Whether a summary that failed holds up the next: until its time, which a stopped one has not.

    That one is made up for when the next chunk is complete, before the next chunk's own (design 6).
    """
    chunk_size = session.limits.chunk_size
    is_next_due = session.unsummarised > chunk_size and session.prompt_index % chunk_size == 0
    times = [
        retry_time(request, now)
        for request in snapshot.requests
        if request.kind is RequestKind.SUMMARY
        and request.state is RequestState.FAILED
        and request.prompts == session.due_chunk
    ]
    return any(not is_next_due if due is None else due > now for due in times)


def _lock(snapshot: Snapshot, done: Request, outcome: LockMade, now: datetime) -> Changes:
    session = replace(snapshot.session, tab1_locked=True, next_slot=min(snapshot.session.slots))
    block = MemoryBlock(
        id=BlockId(new_uuid()),
        session_id=session.id,
        type=BlockType.WORLD_CHAPTER_LOCK,
        first=0,
        last=0,
        payload=outcome.payload,
        json_text=outcome.json_text,
        created_at=now,
    )
    return Changes(
        session_id=session.id,
        session=move(snapshot, session, Command.LOCK_STORED, now),
        blocks=(block,),
        requests=(done,),
    )


def _reply(snapshot: Snapshot, done: Request, outcome: ReplyMade, now: datetime) -> Changes:
    if done.slot is None:
        raise ValueError("a reply belongs to a slot")
    index = snapshot.session.prompt_index + 1
    session = replace(
        snapshot.session, prompt_index=index, next_slot=following(done.slot, snapshot.session.slots)
    )
    session = move(snapshot, session, Command.REPLY_STORED, now)
    done = replace(done, prompts=PromptRange(index, index))
    due = (summary_request(snapshot, session, now),) if session.state is SessionState.SUMMARIZING else ()
    return Changes(
        session_id=session.id,
        session=session,
        events=(
            _event(session, index, 0, Role.USER, None, done.text, done, now),
            _event(session, index, 1, Role.AGENT, done.slot, outcome.text, done, now),
        ),
        requests=(done, *due),
    )


def _event(
    session: Session,
    index: int,
    ordinal: int,
    role: Role,
    slot: Slot | None,
    text: str,
    request: Request,
    now: datetime,
) -> Event:
    return Event(
        id=EventId(new_uuid()),
        session_id=session.id,
        prompt_index=index,
        ordinal=ordinal,
        role=role,
        slot=slot,
        text=text,
        metadata={"request_id": str(request.id)},
        created_at=now,
    )


def _summary(snapshot: Snapshot, done: Request, outcome: SummaryMade, now: datetime) -> Changes:
    chunk = outcome.prompts or done.prompts
    if chunk is None:
        raise ValueError("a summary covers prompts")
    done = replace(done, prompts=chunk)
    session = move(snapshot, replace(snapshot.session, boundary=chunk.last), Command.SUMMARY_STORED, now)
    block = MemoryBlock(
        id=BlockId(new_uuid()),
        session_id=session.id,
        type=BlockType.TURN_DELTA,
        first=chunk.first,
        last=chunk.last,
        payload=outcome.payload,
        json_text=outcome.json_text,
        created_at=now,
    )
    due = (summary_request(snapshot, session, now),) if session.state is SessionState.SUMMARIZING else ()
    return Changes(session_id=session.id, session=session, blocks=(block,), requests=(done, *due))


def _narrative(snapshot: Snapshot, done: Request, outcome: NarrativeMade, now: datetime) -> Changes:
    session = move(snapshot, snapshot.session, Command.NARRATIVE_STORED, now)
    draft = NarrativeDraft(
        id=DraftId(new_uuid()),
        session_id=session.id,
        version=snapshot.draft_count + 1,
        request_id=done.id,
        definition=outcome.definition,
        target_words=outcome.target_words,
        source=SourceSnapshot(session.prompt_index, outcome.block_ids),
        model=outcome.model,
        text=outcome.text,
        created_at=now,
    )
    return Changes(session_id=session.id, session=session, drafts=(draft,), requests=(done,))


def _failure(
    snapshot: Snapshot,
    request: Request,
    failed: Failed,
    call_records: CallRecords,
    now: datetime,
    backoff: float,
) -> Changes:
    session = move(snapshot, snapshot.session, _FAILED_COMMANDS[request.kind], now)
    settled = replace(
        request,
        state=RequestState.FAILED,
        error_code=failed.error.code,
        error_message=clean(str(failed.error)),
        retry_after=_next_try(request, failed, now, backoff),
        updated_at=now,
    )
    unsent = {}
    if request.kind is RequestKind.REPLY and request.slot is not None:
        unsent[request.slot] = returned_unsent(snapshot, request.slot, request.text)
    return Changes(
        session_id=session.id,
        session=session,
        unsent=unsent,
        requests=(settled,),
        artifacts=call_records.artifacts,
        contents=call_records.contents,
    )


def _next_try(request: Request, failed: Failed, now: datetime, backoff: float) -> datetime | None:
    """When a summary is tried again by itself; never for what the GM stopped or has to allow.

    For the other kinds, the time before which the service does not want to be asked again.
    """
    if request.kind is not RequestKind.SUMMARY:
        return now + timedelta(seconds=failed.retry_after) if failed.retry_after else None
    if failed.error.code in (ErrorCode.LLM_CANCELLED, ErrorCode.CONSENT_REQUIRED):
        return None
    return now + timedelta(seconds=max(_own_wait(request, backoff), failed.retry_after or 0.0))


def _own_wait(request: Request, backoff: float) -> float:
    return min(LONGEST_BACKOFF, backoff * 2.0 ** min(request.attempts - 1, 16))


def time_of_service(request: Request, backoff: float) -> datetime | None:
    """Return the time before which the service does not want to be asked again, where it named one.

    The time of a failed summary may be our own back-off alone; what is longer is the service's.
    """
    if request.retry_after is None or request.kind is not RequestKind.SUMMARY:
        return request.retry_after
    ours = request.updated_at + timedelta(seconds=_own_wait(request, backoff))
    return request.retry_after if request.retry_after > ours else None
