"""Turns an outcome into the changes of one transaction, without I/O (design 6)."""

from dataclasses import replace
from datetime import datetime

from core.domain.requests.request import ReplyRequest, Request, RequestState
from core.domain.session.state_machine import Command
from core.engine.kinds.outcome import Failed, Outcome
from core.engine.kinds.registry import handler_of
from core.engine.moves import move_and_summarise
from core.gateway.call_records import CallRecords
from core.snapshot import Changes, Snapshot
from core.text.cleaning import clean


def settle(
    snapshot: Snapshot,
    request: Request,
    outcome: Outcome,
    call_records: CallRecords,
    now: datetime,
    backoff: float,
) -> Changes:
    """Return the changes that follow from `outcome`. `backoff` is the first wait in seconds."""
    if isinstance(outcome, Failed):
        return _failure(snapshot, request, outcome, call_records, now, backoff)
    done = replace(
        request, state=RequestState.DONE, retry_after=None, error_code=None, error_message="", updated_at=now
    )
    changes = handler_of(request).settle(snapshot, done, outcome, now)
    return replace(changes, artifacts=call_records.artifacts, contents=call_records.contents)


def _failure(
    snapshot: Snapshot,
    request: Request,
    failed: Failed,
    call_records: CallRecords,
    now: datetime,
    backoff: float,
) -> Changes:
    if request.spec.failed is None:
        raise ValueError(f"a {request.kind} request is not part of the story")
    is_take = isinstance(request, ReplyRequest) and request.prompts is not None
    command = Command.TAKE_FAILED if is_take else request.spec.failed
    session, due = move_and_summarise(snapshot, snapshot.session, command, now)
    settled = replace(
        request,
        state=RequestState.FAILED,
        error_code=failed.error.code,
        error_message=clean(str(failed.error)),
        retry_after=request.spec.retry.next_try(
            failed.error.code, request.attempts, now, backoff=backoff, asked_for=failed.retry_after
        ),
        updated_at=now,
    )
    return Changes(
        session_id=session.id,
        session=session,
        unsent=handler_of(request).returned(snapshot, request),
        requests=(settled, *due),
        artifacts=call_records.artifacts,
        contents=call_records.contents,
    )


def time_of_service(request: Request, backoff: float) -> datetime | None:
    """Return the time before which the service asked not to be called again, if it did.

    For automatic retries, a time within our own back-off is not the service's.
    """
    retry = request.spec.retry
    if request.retry_after is None or not retry.is_automatic:
        return request.retry_after
    ours = request.updated_at + retry.own_wait(request.attempts, backoff)
    return request.retry_after if request.retry_after > ours else None
