"""Moving a session by a command, and the summary that is due then: pure, shared by commands and outcomes."""

from dataclasses import replace
from datetime import datetime

from core.domain.ids import RequestId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.request import AnyRequest, RequestState, SummaryRequest
from core.domain.session import Session, SessionState
from core.domain.state_machine import Command, facts_of, step
from core.store import Snapshot


def move(snapshot: Snapshot, session: Session, command: Command, now: datetime) -> Session:
    """Return `session` moved by `command`, with the facts that its new values give.

    Raises IllegalCommandError when the table refuses.
    """
    facts = facts_of(
        session,
        snapshot.tab1,
        has_open_reply=bool(snapshot.open_prompts),
        summary_waits=_summary_waits(snapshot, session, now),
        early_failed=_failed_summary(snapshot, session) is not None,
    )
    target = step(session.state, command, facts)
    return replace(session, state=target.state, is_ending=target.is_ending, updated_at=now)


def summary_request(snapshot: Snapshot, session: Session, now: datetime) -> SummaryRequest:
    """Return the request for the chunk that is due, or for what there is of one: an early summary.

    A failed one that begins there is taken again; an early one has grown by what was played since.
    """
    chunk = session.due_chunk or PromptRange(session.boundary + 1, session.prompt_index)
    failed = _failed_summary(snapshot, session)
    if failed is not None:
        return replace(pending_again(failed, now), prompts=chunk)
    return SummaryRequest(
        id=RequestId(new_uuid()),
        session_id=session.id,
        prompts=chunk,
        created_at=now,
        updated_at=now,
    )


def move_and_summarise(
    snapshot: Snapshot, session: Session, command: Command, now: datetime
) -> tuple[Session, tuple[SummaryRequest, ...]]:
    """Return `session` moved by `command`, and the request for the summary that is due then, if one is."""
    session = move(snapshot, session, command, now)
    is_due = session.state is SessionState.SUMMARIZING
    return session, (summary_request(snapshot, session, now),) if is_due else ()


def pending_again(request: AnyRequest, now: datetime) -> AnyRequest:
    """Return a request that waits for its turn again."""
    return replace(request, state=RequestState.PENDING, retry_after=None, updated_at=now)


def retry_time(request: SummaryRequest, now: datetime) -> datetime | None:
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


def _failed_summary(snapshot: Snapshot, session: Session) -> SummaryRequest | None:
    """Return the failed summary that begins behind the boundary."""
    failed = snapshot.failed(SummaryRequest)
    return next((request for request in failed if request.prompts.first == session.boundary + 1), None)


def _summary_waits(snapshot: Snapshot, session: Session, now: datetime) -> bool:
    """Whether a summary that failed holds up the next: until its time, which a stopped one has not.

    That one is caught up when the next chunk is complete, before the next chunk's own (design 6).
    """
    chunk_size = session.limits.chunk_size
    is_next_due = session.unsummarised > chunk_size and session.prompt_index % chunk_size == 0
    times = [
        retry_time(request, now)
        for request in snapshot.failed(SummaryRequest)
        if request.prompts == session.due_chunk
    ]
    return any(not is_next_due if due is None else due > now for due in times)
