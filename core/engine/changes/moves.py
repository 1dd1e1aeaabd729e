"""Moves a session by a command, with the call that is due then; shared by commands and outcomes."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TypedDict

from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.prompt_range import PromptRange, due_chunk
from core.domain.requests.request import AnyRequest, ReplyRequest, Request, RequestState, SummaryRequest
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.domain.session.carry_over import NOTHING_CARRIED, CarryOver
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command, Facts, facts_of, refusal, step
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


def new_session(
    now: datetime, *, session_id: SessionId, script_key: str = "", carried: CarryOver = NOTHING_CARRIED
) -> Changes:
    """Return an empty session in DRAFT_TAB1, with the lines from earlier chapters."""
    session = Session(id=session_id, script_key=script_key, created_at=now, updated_at=now)
    return Changes(session_id=session_id, session=session, tab1=Tab1Inputs(carried=carried))


def move(snapshot: Snapshot, session: Session, command: Command, now: datetime) -> Session:
    """Return `session` moved by `command`, judged by its new values; raise IllegalCommandError if refused."""
    facts = replace(
        _facts_of(snapshot, session),
        summary_waits=_summary_waits(snapshot, session, now),
        early_failed=_failed_summary(snapshot, session) is not None,
    )
    target = step(session.state, command, facts)
    return replace(session, state=target.state, is_ending=target.is_ending, updated_at=now)


def why_not(snapshot: Snapshot, command: Command) -> str:
    """Return why a command is refused now and what to do instead; empty when it is possible."""
    session = snapshot.session
    return refusal(session.state, command, _facts_of(snapshot, session))


def _facts_of(snapshot: Snapshot, session: Session) -> Facts:
    """Return what the guards judge by, but for failed summaries."""
    has_open_reply, awaits_reply = bool(snapshot.open_prompts), snapshot.further_reply is not None
    facts = facts_of(session, snapshot.tab1, has_open_reply=has_open_reply, awaits_reply=awaits_reply)
    return replace(facts, undone=len(snapshot.undone))


def summary_request(snapshot: Snapshot, session: Session, now: datetime) -> SummaryRequest:
    """Return the request for the due chunk, or for an early summary of an incomplete one.

    Reuses a failed request that begins there, extended by the prompts played since. A prompt that has not
    all of its replies yet is not part of it.
    """
    last = session.prompt_index - int(snapshot.further_reply is not None)
    due = due_chunk(session.boundary, last, session.limits.chunk_size, is_ending=session.is_ending)
    chunk = due or PromptRange(session.boundary + 1, last)
    failed = _failed_summary(snapshot, session)
    if failed is not None:
        return replace(pending_again(failed, now), prompts=chunk)
    return SummaryRequest(prompts=chunk, **new_request(session.id, now))


def move_and_summarise(
    snapshot: Snapshot, session: Session, command: Command, now: datetime
) -> tuple[Session, tuple[SummaryRequest, ...]]:
    """Return `session` moved by `command`, and the request for the summary that is due then, if one is."""
    session = move(snapshot, session, command, now)
    is_due = session.state is SessionState.SUMMARIZING
    return session, (summary_request(snapshot, session, now),) if is_due else ()


def next_reply(request: ReplyRequest, now: datetime) -> tuple[ReplyRequest, ...]:
    """Return the request of the character that answers after `request`, if another one was called."""
    if not request.then:
        return ()
    following = ReplyRequest(
        slot=request.then[0],
        text=request.text,
        prompts=request.prompts,
        model=request.model,
        audience=request.audience,
        then=request.then[1:],
        follows=True,
        **new_request(request.session_id, now),
    )
    return (following,)


def leave_out(
    snapshot: Snapshot, request: ReplyRequest, now: datetime, *, with_rest: bool = False
) -> Changes:
    """Leave a further reply out: the next character that was called answers, or with the rest none of them.

    The prompt then has the replies that it has, and its chunk may be complete.
    """
    gone = given_up(request, now)
    following = () if with_rest else next_reply(request, now)
    rest = snapshot.with_requests(gone, *following)
    session, due = move_and_summarise(rest, rest.session, Command.LEAVE_OUT, now)
    if session.state is snapshot.session.state:
        due = ()  # a summary that is being made already
    return Changes(session_id=session.id, session=session, requests=(gone, *following, *due))


class NewRequest(TypedDict):
    """The fields of a new request."""

    id: RequestId
    session_id: SessionId
    created_at: datetime
    updated_at: datetime


def new_request(session_id: SessionId, now: datetime) -> NewRequest:
    """Return the fields of a new request of a session."""
    return NewRequest(id=RequestId(new_uuid()), session_id=session_id, created_at=now, updated_at=now)


class NewWork(NewRequest):
    """The fields of new work beside the play."""

    kind: RequestKind
    priority: int


def new_work(kind: RequestKind, session_id: SessionId, now: datetime) -> NewWork:
    """Return the fields of new work beside the play, with the priority of its kind."""
    return {**new_request(session_id, now), "kind": kind, "priority": KIND_SPECS[kind].priority}


def given_up(request: AnyRequest, now: datetime) -> AnyRequest:
    """Return the request as cancelled."""
    return replace(request, state=RequestState.CANCELLED, retry_after=None, updated_at=now)


def provenance(request: Request, call_records: CallRecords) -> Changes:
    """Return the changes that store the provenance of calls and nothing else."""
    artifacts, contents = call_records.artifacts, call_records.contents
    return Changes(session_id=request.session_id, artifacts=artifacts, contents=contents)


def pending_again(request: AnyRequest, now: datetime) -> AnyRequest:
    """Return a request as queued again."""
    return replace(request, state=RequestState.PENDING, retry_after=None, updated_at=now)


def with_all_tries(request: AnyRequest, now: datetime) -> AnyRequest:
    """Return a request as queued again, with all of its tries."""
    return replace(pending_again(request, now), uncounted=request.attempts)


def retry_time(request: SummaryRequest, now: datetime) -> datetime | None:
    """Return when a failed summary is retried automatically; None for never.

    A failure stored in the future was stored before the clock was set back: its time is meaningless, and the
    summary is due.
    """
    if request.retry_after is not None and request.updated_at > now:
        return now
    return request.retry_after


def is_rebuilt(session: Session, request: SummaryRequest) -> bool:
    """Whether a summary is of prompts that are in memory: another revision of their block."""
    return request.prompts.last <= session.boundary


def due_retries(failed: Iterable[SummaryRequest], now: datetime) -> list[SummaryRequest]:
    """Return the failed summaries whose automatic retry is due, the earliest first."""
    times = ((retry_time(one, now), one) for one in failed)
    due = [(at, one) for at, one in times if at is not None and at <= now]
    return [one for _, one in sorted(due, key=lambda pair: pair[0])]


def may_summarise_early(snapshot: Snapshot, now: datetime) -> bool:
    """Whether an early summary can be requested now: there are new prompts, and no back-off runs."""
    failed = _failed_summary(snapshot, snapshot.session)
    due = None if failed is None else retry_time(failed, now)
    return snapshot.session.unsummarised > 0 and (failed is None or (due is not None and due <= now))


def _failed_summary(snapshot: Snapshot, session: Session) -> SummaryRequest | None:
    """Return the failed summary that begins after the boundary."""
    failed = snapshot.failed(SummaryRequest)
    return next((request for request in failed if request.prompts.first == session.boundary + 1), None)


def _summary_waits(snapshot: Snapshot, session: Session, now: datetime) -> bool:
    """Whether a failed summary delays the next: until its retry, else until the next chunk is complete.

    Then it is made first, before the next chunk's own (design 6).
    """
    chunk_size = session.limits.chunk_size
    is_next_due = session.unsummarised > chunk_size and session.prompt_index % chunk_size == 0
    times = [
        retry_time(request, now)
        for request in snapshot.failed(SummaryRequest)
        if request.prompts == session.due_chunk
    ]
    return any(not is_next_due if due is None else due > now for due in times)
