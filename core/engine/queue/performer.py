"""Carries one request from its beginning to its settlement; whatever happens, it is settled (design 6)."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from core.changes import Changes
from core.domain.clock import Clock
from core.domain.errors import ErrorCode, SessionLockedError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import Request
from core.domain.requests.retry_policy import Backoffs
from core.engine.changes.moves import provenance
from core.engine.decisions import commands
from core.engine.decisions.recovery import recover_request
from core.engine.decisions.transitions import settle
from core.engine.kinds.outcome import Failed, Outcome, PutBack
from core.engine.queue.executor import Executor
from core.engine.queue.vectors import vectors_due
from core.engine.scene.commands import begun
from core.engine.sync.session_writer import SessionWriter
from core.gateway.call_records import CallRecords, failure_of, records_without_call
from core.gateway.cancellation import Cancellation
from core.snapshot import Snapshot

log = logging.getLogger(__name__)

Next = Callable[[Snapshot], Request | None]
"""Returns the request that comes next."""


class Performer:
    """Carries out the requests of one worker, one at a time; `next_of` says which is due."""

    def __init__(
        self, writer: SessionWriter, executor: Executor, clock: Clock, backoffs: Backoffs, next_of: Next
    ) -> None:
        self._writer = writer
        self._executor = executor
        self._clock = clock
        self._backoffs = backoffs
        self._next_of = next_of
        self._current: tuple[RequestId, Cancellation] | None = None
        self._unwanted: set[RequestId] = set()
        """Requests that were cancelled before a model had them."""

    def forget_cancelled(self) -> None:
        """Forget which requests were cancelled before a model had them."""
        self._unwanted.clear()

    def is_unwanted(self, request_id: RequestId) -> bool:
        """Whether a request was cancelled before a model had it."""
        return request_id in self._unwanted

    def stop(self, request_id: RequestId | None = None, *, is_put_back: bool = False) -> bool:
        """Stop the call that runs, if it is of that request; with `is_put_back` it is not the GM's wish."""
        if self._current is None or request_id not in (None, self._current[0]):
            return False
        self._current[1].request(is_put_back=is_put_back)
        return True

    def refuse(self, request_id: RequestId) -> None:
        """Stop a request as soon as it begins."""
        self._unwanted.add(request_id)

    async def perform(self, request_id: RequestId) -> None:
        """Begin, carry out and settle a request, unless another goes first."""
        cancellation = Cancellation()
        self._current = (request_id, cancellation)
        if request_id in self._unwanted:
            cancellation.request()
        try:
            try:
                await self._begin(request_id)
            except _NotItsTurnError:
                return
            request = commands.find_request(self._writer.snapshot, request_id)
            outcome, call_records = await self._outcome(request, cancellation)
            if cancellation.is_put_back and isinstance(outcome, Failed):
                outcome = _put_back(outcome, call_records)
            await self._settle(request, outcome, call_records)
        finally:
            self._current = None
            self._unwanted.discard(request_id)

    async def _begin(self, request_id: RequestId) -> None:
        """Store that the request is processing; raise _NotItsTurnError when another goes first."""
        if self._writer.is_current and not self._begun(self._writer.snapshot, request_id).requests:
            return
        await self._writer.apply_patiently(lambda snapshot: self._begun(snapshot, request_id))

    def _begun(self, snapshot: Snapshot, request_id: RequestId) -> Changes:
        """Return the changes that begin the request if it is still next; none if it has begun."""
        request = self._next_of(snapshot)
        if request is None or request.id != request_id:
            raise _NotItsTurnError
        if request.is_processing:
            return Changes(session_id=request.session_id)
        return begun(snapshot, request, self._clock())

    async def _settle(self, request: Request, outcome: Outcome, call_records: CallRecords) -> None:
        """Settle the request; an outcome that cannot be stored becomes a failure.

        So the GM's text always returns and the session goes on.
        """
        failed = Failed(StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED, _UNSTORABLE))
        for settled, stored in (
            (outcome, call_records),
            (failed, call_records),
            (failed, None),
            (failed, CallRecords()),
        ):
            if stored is None:
                stored = records_without_call(request, failed.error, self._clock())
            settlement = partial(self._settlement, request=request, outcome=settled, call_records=stored)
            try:
                await self._writer.apply_patiently(settlement)
            except SessionLockedError:
                raise
            except Exception as error:
                log.error("request %s could not be settled", request.id, exc_info=error)
            else:
                return
        await self._writer.apply_patiently(
            lambda snapshot: recover_request(snapshot, request, self._clock(), self._backoffs)
        )

    async def _outcome(self, request: Request, cancellation: Cancellation) -> tuple[Outcome, CallRecords]:
        """Run the request in a task of its own, so that a bug is logged and settles the request."""
        task = asyncio.create_task(self._executed(request, cancellation), name=f"request {request.id}")
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            return task.result()
        failure = failure_of(error, f"request {request.id}")
        return Failed(failure), records_without_call(request, failure, self._clock())

    async def _executed(self, request: Request, cancellation: Cancellation) -> tuple[Outcome, CallRecords]:
        snapshot = await self._writer.know_memory()
        return await self._executor.run(snapshot, request, cancellation, self._writer.listeners.publish)

    def _settlement(
        self, snapshot: Snapshot, request: Request, outcome: Outcome, call_records: CallRecords
    ) -> Changes:
        """Settle on the current snapshot; if the request was settled elsewhere, store only the provenance."""
        current = next((other for other in snapshot.requests if other.id == request.id), None)
        if current is None or (current.state, current.attempts) != (request.state, request.attempts):
            log.warning("request %s was settled elsewhere; its answer is kept in the provenance", request.id)
            return provenance(request, call_records)
        now = self._clock()
        changes = settle(snapshot, current, outcome, call_records, now, self._backoffs)
        if not (changes.items and self._executor.makes_vectors):
            return changes
        return replace(changes, requests=(*changes.requests, *vectors_due(snapshot, now)))


def _put_back(stopped: Failed, call_records: CallRecords) -> PutBack:
    """Return the outcome of a stopped call that waits again; the records have the calls that were sent."""
    has_begun = any(artifact.output_ref is not None for artifact in call_records.artifacts)
    return PutBack(is_on_record=bool(call_records.artifacts) or stopped.is_on_record, is_try=has_begun)


_UNSTORABLE = "The answer could not be stored as it is; your text is safe, retry, and please report the log."


class _NotItsTurnError(Exception):
    """The request was withdrawn, or another goes first now."""
