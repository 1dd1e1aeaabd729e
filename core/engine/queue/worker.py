"""Runs the requests of one open session in order, one at a time, and settles each."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from core.domain.clock import Clock
from core.domain.errors import (
    ErrorCode,
    IllegalCommandError,
    SessionLockedError,
    StorageError,
    StoryEngineError,
)
from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, Request, SummaryRequest
from core.domain.session.session import SessionState
from core.engine import commands
from core.engine.kinds.outcome import Failed, Outcome
from core.engine.moves import may_summarise_early, provenance, retry_time
from core.engine.queue.executor import Executor
from core.engine.recovery import recover
from core.engine.scene.commands import begun
from core.engine.sync.notifications import StorageTrouble
from core.engine.sync.session_writer import SessionWriter
from core.engine.transitions import settle
from core.gateway.call_records import BUG, CallRecords, failure_of, records_without_call
from core.gateway.model_gateway import Cancellation
from core.snapshot import Changes, Snapshot

log = logging.getLogger(__name__)

MAX_SLEEP_SECONDS = 60.0
SETTLE_TIMEOUT_SECONDS = 10.0
"""Seconds to settle a stopped call when the session is closed."""


class RequestWorker:
    """A background task that runs pending requests; woken by new requests and due retries."""

    def __init__(self, writer: SessionWriter, executor: Executor, clock: Clock, backoff: float) -> None:
        self._writer = writer
        self._executor = executor
        self._clock = clock
        self._backoff = backoff
        self._wake = asyncio.Event()
        self._current: tuple[RequestId, Cancellation] | None = None
        self._unwanted: set[RequestId] = set()
        """Requests that were cancelled before a model had them."""
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    def start(self) -> None:
        """Start the task, unless it runs already."""
        self._unwanted.clear()
        self._wake.set()
        if self._task is not None and not self._task.done():
            return
        self._task = asyncio.create_task(self._run(), name="worker")
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("the request worker ended with an error", exc_info=error)
        if not isinstance(error, StoryEngineError):
            error = StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED, BUG)
        self._writer.listeners.publish(StorageTrouble(error))
        self._writer.waiters.fail(error)

    def wake(self) -> None:
        """Check for pending requests again."""
        self._wake.set()

    def cancel(self, request_id: RequestId) -> bool:
        """Stop a request that a model has, or is about to have, and return True.

        Returns False for prompts that are only queued; those are withdrawn instead.
        """
        if self._current is not None and self._current[0] == request_id:
            self._current[1].request()
            return True
        request = commands.find_request(self._writer.snapshot, request_id)
        is_about_to = request.is_processing or not isinstance(request, ReplyRequest)
        if not (request.state.is_open and is_about_to):
            return False
        self._unwanted.add(request_id)
        self._wake.set()
        return True

    async def aclose(self) -> None:
        """Stop the running call, settle it, and end the task.

        A call that is not settled in time is repaired when the session is opened again.
        """
        if self._task is None:
            return
        self._is_closing = True
        if self._current is not None:
            self._current[1].request()
        self._wake.set()
        done, _ = await asyncio.wait({self._task}, timeout=SETTLE_TIMEOUT_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=SETTLE_TIMEOUT_SECONDS)

    async def _run(self) -> None:
        while not self._is_closing:
            self._wake.clear()
            try:
                wait = await self._work()
            except SessionLockedError:
                log.warning("another window has become the writer")
                continue
            if wait > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(wait, MAX_SLEEP_SECONDS)):
                        await self._wake.wait()

    async def _work(self) -> float:
        """Run the next request, if there is one; return the seconds until another may be due."""
        if self._writer.lease is None:
            return MAX_SLEEP_SECONDS
        request = next_request(self._writer.snapshot)
        if request is not None:
            if not await self._summarises_early(request):
                await self._perform(request.id)
            return 0.0
        now = self._clock()
        due = next_retry(self._writer.snapshot, now)
        if due is None:
            return MAX_SLEEP_SECONDS
        if due <= now:
            # The GM may have ended the chapter, or retried, meanwhile.
            with suppress(IllegalCommandError):
                await self._writer.apply_patiently(lambda snapshot: commands.retry_summary(snapshot, now))
            return 0.0
        return (due - now).total_seconds()

    async def _summarises_early(self, request: Request) -> bool:
        """Begin an early summary if a prompt fits only with the story before it shortened."""
        if not isinstance(request, ReplyRequest) or request.prompts is not None:
            return False  # a further take replaces a prompt that a summary would have
        if request.id in self._unwanted or not may_summarise_early(self._writer.snapshot, self._clock()):
            return False
        try:
            snapshot = await self._writer.know_memory()
        except StorageError:
            log.warning("memory could not be read before request %s; its own attempt reports why", request.id)
            return False
        if not self._executor.needs_room(snapshot, request):
            return False
        with suppress(IllegalCommandError):
            await self._writer.apply_patiently(
                lambda current: commands.summarise_early(current, self._clock())
            )
        return True

    async def _perform(self, request_id: RequestId) -> None:
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
            await self._settle(request, outcome, call_records)
        finally:
            self._current = None
            self._unwanted.discard(request_id)

    async def _begin(self, request_id: RequestId) -> None:
        """Store that the request is processing; raise _NotItsTurnError when another goes first."""
        if self._writer.is_current and not _begun(self._writer.snapshot, request_id, self._clock()).requests:
            return
        await self._writer.apply_patiently(lambda snapshot: _begun(snapshot, request_id, self._clock()))

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
            lambda snapshot: (
                recover(snapshot, self._clock(), self._backoff) or Changes(session_id=request.session_id)
            )
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
        return settle(snapshot, current, outcome, call_records, self._clock(), self._backoff)


_UNSTORABLE = "The answer could not be stored as it is; your text is safe, retry, and please report the log."


class _NotItsTurnError(Exception):
    """The request was withdrawn, or another goes first now."""


def _begun(snapshot: Snapshot, request_id: RequestId, now: datetime) -> Changes:
    """Return the changes that begin the request, if it is still the next; none if it has begun already."""
    request = next_request(snapshot)
    if request is None or request.id != request_id:
        raise _NotItsTurnError
    if request.is_processing:
        return Changes(session_id=request.session_id)
    return begun(snapshot, request, now)


def begun_with(snapshot: Snapshot, made: Changes, now: datetime) -> Changes:
    """Return `made` with the request that it stores begun, if nothing else comes before that."""
    after = snapshot.after(made)
    first = next_request(after)
    if first is None or first not in made.requests:
        return made
    begins = begun(after, first, now)
    return replace(
        made,
        events=(*made.events, *begins.events),
        canon_end=made.canon_end if begins.canon_end is None else begins.canon_end,
        requests=(*(request for request in made.requests if request != first), *begins.requests),
    )


def next_request(snapshot: Snapshot) -> Request | None:
    """Return the next open request that can run in the current state.

    Prompts wait for a summary, and for a failed prompt before them, because they may depend on its reply. A
    request that is stored as processing has not been run yet: the worker settles one before it takes the
    next.
    """
    is_held_up = bool(snapshot.failed(ReplyRequest))
    candidates = [
        request
        for request in snapshot.open_requests
        if snapshot.session.state in request.spec.runs_in
        and not (is_held_up and isinstance(request, ReplyRequest))
    ]
    return min(candidates, key=lambda request: request.order, default=None)


def next_retry(snapshot: Snapshot, now: datetime) -> datetime | None:
    """Return when a failed summary is retried automatically; only while the chapter is played."""
    if snapshot.session.state is not SessionState.ACTIVE:
        return None
    times = [
        due
        for request in snapshot.failed(SummaryRequest)
        if (due := retry_time(request, now)) is not None
        and request.prompts.first == snapshot.session.boundary + 1
    ]
    return min(times, default=None)
