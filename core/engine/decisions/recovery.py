"""Repairs a session after a crash (design 6, step 6).

Takes the snapshot of a session without a writer, and returns the changes that repair it, without I/O.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import (
    BackgroundRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    RequestState,
    SummaryRequest,
)
from core.domain.requests.retry_policy import Backoffs
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.engine.changes.moves import pending_again, provenance, summary_request
from core.engine.decisions.transitions import settle
from core.engine.kinds.outcome import Failed
from core.engine.kinds.registry import handler_of
from core.gateway.call_records import CallRecords, records_without_call
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

INTERRUPTED = "The program ended before the answer was stored; the text is safe, send it again."
INTERRUPTED_BUILD = (
    "The program ended while the chapter was written; what had come in of this part is not kept."
)
INTERRUPTED_WORK = "The program ended before the answer was stored; it is asked for again."
GIVEN_UP = "The program ended each time before the answer was stored; retry it if you still want it."


def recover(snapshot: Snapshot, now: datetime, backoffs: Backoffs) -> Changes | None:
    """Return the changes that repair the session, or None when nothing was in flight.

    No process works on open requests any more. The text of a prompt returns to its composer, also of a queued
    one, so that the GM decides the order again; a due summary is queued again; a lock returns to DRAFT_TAB1
    and a narrative to ENDED. Background work that a model had is queued again while it has tries left;
    pending work stays pending.
    """
    interrupted = [_taken_up_again(one, now, backoffs) for one in snapshot.background if one.is_processing]
    return _recovered(snapshot, now, backoffs, interrupted)


def recover_request(snapshot: Snapshot, request: Request, now: datetime, backoffs: Backoffs) -> Changes:
    """Return the changes that settle a request whose outcome cannot be stored in any form.

    Background work fails by itself; the play is recovered without the background work that runs beside it.
    """
    if not request.spec.is_background:
        return _recovered(snapshot, now, backoffs, []) or Changes(session_id=snapshot.session.id)
    running = (one for one in snapshot.background if one.id == request.id and one.is_processing)
    code = ErrorCode.STORAGE_SAVE_FAILED
    failed = (replace(one, state=RequestState.FAILED, error_code=code, updated_at=now) for one in running)
    return Changes(session_id=snapshot.session.id, requests=tuple(failed))


def _recovered(snapshot: Snapshot, now: datetime, backoffs: Backoffs, parts: list[Changes]) -> Changes | None:
    repaired = snapshot
    if snapshot.session.state is SessionState.RESETTING:
        parts.append(_with_state(snapshot.session, _before_reset(snapshot), now))
        repaired = snapshot.after(parts[-1])
    for request in reversed(snapshot.open_requests):
        change = _interrupted(repaired, request, now, backoffs)
        parts.append(change)
        repaired = repaired.after(change)
    orphaned = _repair_orphaned_state(repaired, now)
    if orphaned is not None:
        parts.append(orphaned)
    return _merge_changes(snapshot, parts)


def _interrupted(snapshot: Snapshot, request: Request, now: datetime, backoffs: Backoffs) -> Changes:
    call_records = _records_of_interrupted(request, now)
    if request.spec.resumes:
        return replace(provenance(request, call_records), requests=(pending_again(request, now),))
    error = _interruption_of(request)
    if snapshot.session.state not in request.spec.runs_in:
        return _fail_and_return_text(snapshot, request, error, now)
    return settle(snapshot, request, Failed(error), call_records, now, backoffs)


def _interruption_of(request: Request) -> StoryEngineError:
    message = INTERRUPTED_BUILD if isinstance(request, NarrativeRequest) else INTERRUPTED
    return StoryEngineError(ErrorCode.LLM_CANCELLED, message)


def _taken_up_again(request: BackgroundRequest, now: datetime, backoffs: Backoffs) -> Changes:
    """Queue background work again, or give it up: an attempt that ends the program each time has an end."""
    is_dead = request.tries >= backoffs.background.tries
    error = StoryEngineError(ErrorCode.LLM_CANCELLED, GIVEN_UP if is_dead else INTERRUPTED_WORK)
    call_records = records_without_call(request, error, now)
    again = replace(pending_again(request, now), error_code=error.code, error_message=error.message)
    if is_dead:
        again = replace(again, state=RequestState.DEAD)
    return replace(provenance(request, call_records), requests=(again,))


def withdraw_doubtful_prompts(
    snapshot: Snapshot, doubtful: Collection[RequestId], now: datetime
) -> Changes | None:
    """Return the withdrawal of prompts that are stored although the GM was told that they are not.

    Their texts are in their composers; sending one again reuses its request.
    """
    prompts = [request for request in snapshot.open_prompts if request.id in doubtful]
    return _return_all(snapshot, prompts, StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED), now)


def withdraw_queued_prompts(snapshot: Snapshot, now: datetime) -> Changes | None:
    """Return the withdrawal of queued prompts when the session is closed."""
    prompts = [request for request in snapshot.open_prompts if not request.is_processing]
    return _return_all(snapshot, prompts, StoryEngineError(ErrorCode.LLM_CANCELLED, INTERRUPTED), now)


def _return_all(
    snapshot: Snapshot, prompts: list[ReplyRequest], error: StoryEngineError, now: datetime
) -> Changes | None:
    """Return prompts to their composers, the newest first, so that the texts are in the order of play."""
    repaired = snapshot
    parts: list[Changes] = []
    for request in reversed(prompts):
        parts.append(_fail_and_return_text(repaired, request, error, now))
        repaired = repaired.after(parts[-1])
    return _merge_changes(snapshot, parts)


def _fail_and_return_text(
    snapshot: Snapshot, request: Request, error: StoryEngineError, now: datetime
) -> Changes:
    """Fail a request that no model works on: its text returns, and the state stays."""
    failed = replace(
        request, state=RequestState.FAILED, error_code=error.code, error_message=error.message, updated_at=now
    )
    return Changes(
        session_id=request.session_id,
        requests=(failed,),
        unsent=handler_of(request).returned(snapshot, request),
    )


def _records_of_interrupted(request: Request, now: datetime) -> CallRecords:
    if not request.is_processing:
        return CallRecords()
    return records_without_call(request, _interruption_of(request), now)


def _repair_orphaned_state(snapshot: Snapshot, now: datetime) -> Changes | None:
    """Repair a state for which no open request exists."""
    session = snapshot.session
    has_summary = any(isinstance(request, SummaryRequest) for request in snapshot.open_requests)
    match session.state:
        case SessionState.SUMMARIZING if not has_summary:
            if session.due_chunk is None:
                return _with_state(session, SessionState.ACTIVE, now)
            return Changes(session_id=session.id, requests=(summary_request(snapshot, session, now),))
        case SessionState.LOCKING:
            return _with_state(session, SessionState.DRAFT_TAB1, now)
        case SessionState.NARRATING:
            return _with_state(session, SessionState.ENDED, now)
        case _:
            return None


def _before_reset(snapshot: Snapshot) -> SessionState:
    """Return the state of a chapter before a reset that was not completed.

    An end that left no trace is not detected: everything is in memory then, so ending again costs nothing.
    """
    session = snapshot.session
    for request in snapshot.open_requests:
        if not isinstance(request, ReplyRequest):
            (state,) = request.spec.runs_in
            return state
    if not session.tab1_locked:
        return SessionState.DRAFT_TAB1
    # Only an end makes a short chunk, besides an early summary, whose prompt still exists.
    has_prompts = any(isinstance(request, ReplyRequest) for request in snapshot.requests)
    is_short = session.boundary == session.prompt_index and session.boundary % session.limits.chunk_size
    has_ended = snapshot.draft_count or (is_short and not has_prompts)
    return SessionState.ENDED if has_ended else SessionState.ACTIVE


def _with_state(session: Session, state: SessionState, now: datetime) -> Changes:
    return Changes(session_id=session.id, session=replace(session, state=state, updated_at=now))


def _merge_changes(snapshot: Snapshot, parts: list[Changes]) -> Changes | None:
    """Merge changes into one, None without any; later values replace earlier ones."""
    if not parts:
        return None
    requests = {request.id: request for part in parts for request in part.requests}
    sessions = [part.session for part in parts if part.session is not None]
    contents = {content.hash: content for part in parts for content in part.contents}
    return Changes(
        session_id=snapshot.session.id,
        session=sessions[-1] if sessions else None,
        unsent={slot: text for part in parts for slot, text in part.unsent.items()},
        requests=tuple(requests.values()),
        artifacts=tuple(artifact for part in parts for artifact in part.artifacts),
        contents=tuple(contents.values()),
    )
