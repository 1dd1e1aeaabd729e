"""Turns an outcome into the changes of one transaction, without I/O (design 6)."""

from dataclasses import replace
from datetime import datetime

from core.domain.requests.request import ReplyRequest, Request, RequestState
from core.domain.requests.retry_policy import Backoff, Backoffs
from core.domain.session.state_machine import Command
from core.engine.changes.moves import move_and_summarise, pending_again, provenance
from core.engine.kinds.outcome import Failed, Outcome, PutBack
from core.engine.kinds.registry import handler_of
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean


def settle(
    snapshot: Snapshot,
    request: Request,
    outcome: Outcome,
    call_records: CallRecords,
    now: datetime,
    backoffs: Backoffs,
) -> Changes:
    """Return the changes that follow from `outcome`."""
    if isinstance(outcome, PutBack):
        return replace(provenance(request, call_records), requests=(_put_back(request, outcome, now),))
    if isinstance(outcome, Failed):
        return _failure(snapshot, request, outcome, call_records, now, backoffs)
    done = replace(
        request, state=RequestState.DONE, retry_after=None, error_code=None, error_message="", updated_at=now
    )
    changes = handler_of(request).settle(snapshot, done, outcome, now)
    return replace(changes, artifacts=call_records.artifacts, contents=call_records.contents)


def _put_back(request: Request, outcome: PutBack, now: datetime) -> Request:
    if not outcome.is_on_record:
        return replace(pending_again(request, now), attempts=request.attempts - 1)
    return replace(pending_again(request, now), uncounted=request.uncounted + int(not outcome.is_try))


def _failure(
    snapshot: Snapshot,
    request: Request,
    failed: Failed,
    call_records: CallRecords,
    now: datetime,
    backoffs: Backoffs,
) -> Changes:
    settled = _tried(request, failed, now, backoffs)
    if request.spec.is_background:
        return replace(provenance(request, call_records), requests=(settled,))
    if request.spec.failed is None:
        raise ValueError(f"a {request.kind} request is not part of the story")
    is_take = isinstance(request, ReplyRequest) and request.is_take
    command = Command.TAKE_FAILED if is_take else request.spec.failed
    session, due = move_and_summarise(snapshot, snapshot.session, command, now)
    return Changes(
        session_id=session.id,
        session=session,
        unsent=handler_of(request).returned(snapshot, request),
        requests=(settled, *due),
        artifacts=call_records.artifacts,
        contents=call_records.contents,
    )


def _tried(request: Request, failed: Failed, now: datetime, backoffs: Backoffs) -> Request:
    """Return the request after a failed attempt: failed, dead, or in the background waiting again."""
    retry, backoff = request.spec.retry, _backoff_of(request, backoffs)
    due = retry.next_try(failed.error.code, request.tries, now, backoff=backoff, asked_for=failed.retry_after)
    state = RequestState.FAILED
    if due is None and retry.is_automatic and request.tries >= backoff.tries:
        state = RequestState.DEAD
    elif request.spec.is_background:
        state = RequestState.FAILED if due is None else RequestState.PENDING
    return replace(
        request,
        state=state,
        error_code=failed.error.code,
        error_message=clean(str(failed.error)),
        retry_after=due,
        updated_at=now,
    )


def _backoff_of(request: Request, backoffs: Backoffs) -> Backoff:
    return backoffs.background if request.spec.is_background else backoffs.summary


def time_of_service(request: Request, backoffs: Backoffs) -> datetime | None:
    """Return the time before which the service asked not to be called again, if it did.

    For automatic retries, a time within our own back-off is not the service's.
    """
    retry = request.spec.retry
    if request.retry_after is None or not retry.is_automatic:
        return request.retry_after
    ours = request.updated_at + _backoff_of(request, backoffs).wait(request.tries)
    return request.retry_after if request.retry_after > ours else None
