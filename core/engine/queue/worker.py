"""Runs the requests of an open session in order, one at a time, and settles each of them (design 6)."""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from core.domain.errors import (
    ErrorCode,
    IllegalCommandError,
    SessionLockedError,
    StorageError,
    StoryEngineError,
)
from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, Request
from core.domain.requests.retry_policy import Backoffs
from core.engine.changes.moves import may_summarise_early, provenance
from core.engine.decisions import commands
from core.engine.decisions.recovery import recover_request
from core.engine.decisions.removed_prompt import is_removed_prompt, keep_removed_prompt
from core.engine.decisions.transitions import settle
from core.engine.kinds.outcome import Failed, Outcome, PutBack
from core.engine.kinds.registry import handler_of
from core.engine.queue.control import QueueSwitch
from core.engine.queue.jobs import JobFactory
from core.engine.queue.queue_commands import may_stop, next_request, next_retry, vectors_due
from core.engine.scene.scene_commands import begun
from core.engine.sync.notifications import StorageTrouble
from core.engine.sync.paid_change import Decide
from core.engine.sync.session_tasks import SessionTask
from core.engine.sync.session_writer import SessionWriter
from core.gateway.call_records import BUG, CallRecords, failure_of, records_without_call
from core.gateway.cancellation import Cancellation
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

log = logging.getLogger(__name__)

MAX_SLEEP_SECONDS = 60.0


@dataclass(eq=False)
class Worker(SessionTask):
    """A task that runs pending requests, one at a time; woken by new requests and due retries."""

    patience = 10.0

    _writer: SessionWriter
    _jobs: JobFactory
    backoffs: Backoffs
    _switch: QueueSwitch
    _current: tuple[RequestId, Cancellation] | None = field(default=None, init=False)
    _unwanted: set[RequestId] = field(default_factory=set, init=False)
    """Requests that were cancelled before a model had them."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _is_closing = False

    @property
    def is_paused(self) -> bool:
        """Whether nothing new begins."""
        return self._switch.is_paused

    async def learn_pause(self) -> None:
        """Ask the database whether the queue is paused, where no message of that may have come."""
        await self._switch.learn(self._writer.store.queue.is_paused)

    def start(self) -> None:
        """Start the task, unless it runs already."""
        self._unwanted.clear()
        self._wake.set()
        if self._has_ended:
            self._writer.waiters.reopen()
        super().start()

    @property
    def _has_ended(self) -> bool:
        """Whether the task ended with an error: nothing else ends it before the session is closed."""
        return self._task is not None and not self.is_running

    def _ended(self, task: asyncio.Task[None]) -> None:
        super()._ended(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, StoryEngineError):
            error = StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED, BUG)
        self._writer.listeners.publish(StorageTrouble(error))
        if not self.is_running:  # nothing has begun it again meanwhile
            self._writer.waiters.fail(error)

    def wake(self) -> None:
        """Check for pending requests again."""
        self._wake.set()

    async def aclose(self) -> None:
        """Stop the running call, settle it, and end the task.

        A call that is not settled in time is repaired when the session is opened again.
        """
        self._is_closing = True  # Also where none was started: what is settled meanwhile may ask for one.
        self._stop_for_close()
        self._wake.set()
        await super().aclose()

    @abstractmethod
    def _next(self, snapshot: Snapshot) -> Request | None:
        """Return the request that comes next."""

    @abstractmethod
    def _stop_for_close(self) -> None:
        """Stop the call that runs, because the session is closed."""

    @abstractmethod
    async def _work(self) -> float:
        """Run the next request, if there is one; return the seconds until another may be due."""

    async def _run(self) -> None:
        # A worker of a paused queue sleeps; a resume wakes it.
        with ExitStack() as at_end:
            at_end.callback(self._switch.on_change(self._wake.set))
            while not self._is_closing:
                self._wake.clear()
                try:
                    wait = MAX_SLEEP_SECONDS if self._is_held else await self._work()
                except SessionLockedError:
                    log.warning("another window has become the writer")
                    continue
                if wait > 0:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(min(wait, MAX_SLEEP_SECONDS)):
                            await self._wake.wait()

    @property
    def _is_held(self) -> bool:
        """Whether nothing may begin; what was cancelled before is settled during a pause too."""
        if self._writer.lease is None or not self._switch.is_paused:
            return self._writer.lease is None
        request = self._next(self._writer.snapshot)
        return request is None or request.id not in self._unwanted

    def _stop(self, request_id: RequestId | None = None, *, is_put_back: bool = False) -> bool:
        """Stop the call that runs, if it is of that request; with `is_put_back` it is not the GM's wish."""
        if self._current is None or request_id not in (None, self._current[0]):
            return False
        self._current[1].request(is_put_back=is_put_back)
        return True

    async def _perform(self, request_id: RequestId) -> None:
        """Begin, carry out and settle a request, unless another goes first."""
        cancellation = Cancellation()
        self._current = (request_id, cancellation)
        if request_id in self._unwanted:
            cancellation.request()
        try:
            try:
                await self._begin(request_id)
                request = commands.find_request(self._writer.snapshot, request_id)
            except (_NotItsTurnError, IllegalCommandError):  # or it was given up as soon as it had begun
                return
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
        request = self._next(snapshot)
        if request is None or request.id != request_id:
            raise _NotItsTurnError
        if request.is_processing:
            return Changes(session_id=request.session_id)
        return begun(snapshot, request, self._writer.clock())

    async def _settle(self, request: Request, outcome: Outcome, call_records: CallRecords) -> None:
        """Settle the request; an outcome that cannot be stored becomes a failure.

        So the GM's text always returns and the session goes on.
        """
        for settlement in self._ways_to_settle(request, outcome, call_records):
            try:
                await self._writer.apply_paid(settlement)
            except SessionLockedError:
                raise
            except Exception as error:  # refused, or a bug of the decision: there are other ways
                log.error("request %s could not be settled", request.id, exc_info=error)
            else:
                return
        await self._writer.apply_patiently(
            lambda snapshot: recover_request(snapshot, request, self._writer.clock(), self.backoffs)
        )

    def _ways_to_settle(
        self, request: Request, outcome: Outcome, call_records: CallRecords
    ) -> Iterator[Decide]:
        """Yield what can be stored of a request, each for where the store refused the one before."""
        settled = partial(self._settlement, request=request)
        yield partial(settled, outcome=outcome, call_records=call_records)
        if is_removed_prompt(self._writer.snapshot, request):
            now = self._writer.clock()
            yield partial(keep_removed_prompt, request=request, call_records=call_records, now=now)
        failed = Failed(StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED, _UNSTORABLE))
        is_of_answers = not isinstance(outcome, Failed | PutBack)  # else none was made anything of
        now = self._writer.clock()
        marked = call_records.refused(request, failed.error, now) if is_of_answers else call_records
        for stored in (marked, records_without_call(request, failed.error, now), CallRecords()):
            yield partial(settled, outcome=failed, call_records=stored)

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
        return Failed(failure), records_without_call(request, failure, self._writer.clock())

    async def _executed(self, request: Request, cancellation: Cancellation) -> tuple[Outcome, CallRecords]:
        snapshot = await self._writer.know_memory()
        job = await self._jobs.job(snapshot, request, cancellation, self._writer.listeners.publish)
        return await handler_of(request).carry_out(job, request)

    def _settlement(
        self, snapshot: Snapshot, request: Request, outcome: Outcome, call_records: CallRecords
    ) -> Changes:
        """Settle on the current snapshot; if the request was settled elsewhere, store only the provenance."""
        current = next((other for other in snapshot.requests if other.id == request.id), None)
        if current is None or (current.state, current.attempts) != (request.state, request.attempts):
            log.warning("request %s was settled elsewhere; its answer is kept in the provenance", request.id)
            return provenance(request, call_records)
        now = self._writer.clock()
        changes = settle(snapshot, current, outcome, call_records, now, self.backoffs)
        if not (changes.items and self._jobs.makes_vectors):
            return changes
        return replace(changes, requests=(*changes.requests, *vectors_due(snapshot, now)))


class RequestWorker(Worker):
    """Runs the requests of the play."""

    name = "request worker"

    def wake(self) -> None:
        """Check for pending requests again, also where an error of the store has ended the task."""
        if self._has_ended and not self._is_closing:
            self.start()
        else:
            super().wake()

    def cancel(self, request_id: RequestId) -> bool:
        """Stop a request that a model has, or is about to have, and return True.

        Returns False for prompts that are only queued; those are withdrawn instead.
        """
        if self._stop(request_id):
            return True
        if not may_stop(commands.find_request(self._writer.snapshot, request_id)):
            return False
        self._unwanted.add(request_id)
        self._wake.set()
        return True

    def _next(self, snapshot: Snapshot) -> Request | None:
        return next_request(snapshot)

    def _stop_for_close(self) -> None:
        self._stop()

    async def _work(self) -> float:
        request = next_request(self._writer.snapshot)
        if request is not None:
            if not await self._summarises_early(request):
                await self._perform(request.id)
            return 0.0
        now = self._writer.clock()
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
        if request.id in self._unwanted or not may_summarise_early(
            self._writer.snapshot, self._writer.clock()
        ):
            return False
        try:
            snapshot = await self._writer.know_memory()
        except StorageError:
            log.warning("memory could not be read before request %s; its own attempt reports why", request.id)
            return False
        if not await self._jobs.needs_room(snapshot, request):
            return False
        with suppress(IllegalCommandError):
            await self._writer.apply_patiently(
                lambda current: commands.summarise_early(current, self._writer.clock())
            )
        return True


def _put_back(stopped: Failed, call_records: CallRecords) -> PutBack:
    """Return the outcome of a stopped call that waits again; the records have the calls that were sent."""
    has_begun = any(artifact.output_ref is not None for artifact in call_records.artifacts)
    return PutBack(is_on_record=bool(call_records.artifacts) or stopped.is_on_record, is_try=has_begun)


_UNSTORABLE = "The answer could not be stored as it is; your text is safe, retry, and please report the log."


class _NotItsTurnError(Exception):
    """The request was withdrawn, or another goes first now."""
