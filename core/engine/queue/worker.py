"""Runs the requests of the play of one open session in order, one at a time."""

import asyncio
import logging
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import ClassVar

from core.changes import Changes
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
from core.domain.requests.retry_policy import Backoffs
from core.domain.session.session import Session, SessionState
from core.engine.changes.moves import is_rebuilt, may_summarise_early, retry_time
from core.engine.decisions import commands
from core.engine.queue.executor import Executor
from core.engine.queue.pause import QueueSwitch
from core.engine.queue.performer import Performer
from core.engine.scene.commands import begun
from core.engine.sync.notifications import StorageTrouble
from core.engine.sync.session_writer import SessionWriter
from core.gateway.call_records import BUG
from core.snapshot import Snapshot

log = logging.getLogger(__name__)

MAX_SLEEP_SECONDS = 60.0
SETTLE_TIMEOUT_SECONDS = 10.0
"""Seconds to settle a stopped call when the session is closed."""


class Worker(ABC):
    """A task that runs pending requests, one at a time; woken by new requests and due retries."""

    name: ClassVar[str]

    def __init__(
        self,
        writer: SessionWriter,
        executor: Executor,
        clock: Clock,
        backoffs: Backoffs,
        switch: QueueSwitch,
    ) -> None:
        self._writer = writer
        self._executor = executor
        self._clock = clock
        self._switch = switch
        self._performer = Performer(writer, executor, clock, backoffs, self._next)
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    @property
    def is_paused(self) -> bool:
        """Whether nothing new begins."""
        return self._switch.is_paused

    def start(self) -> None:
        """Start the task, unless it runs already."""
        self._performer.forget_cancelled()
        self._wake.set()
        if self._task is not None and not self._task.done():
            return
        self._task = asyncio.create_task(self._run(), name=self.name)
        self._task.add_done_callback(self._ended)
        # A worker of a paused queue sleeps; a resume wakes it.
        forget = self._switch.on_change(self._wake.set)
        self._task.add_done_callback(lambda _: forget())

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("the %s ended with an error", self.name, exc_info=error)
        if not isinstance(error, StoryEngineError):
            error = StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED, BUG)
        self._writer.listeners.publish(StorageTrouble(error))
        self._writer.waiters.fail(error)

    def wake(self) -> None:
        """Check for pending requests again."""
        self._wake.set()

    async def aclose(self) -> None:
        """Stop the running call, settle it, and end the task.

        A call that is not settled in time is repaired when the session is opened again.
        """
        if self._task is None:
            return
        self._is_closing = True
        self._stop_for_close()
        self._wake.set()
        done, _ = await asyncio.wait({self._task}, timeout=SETTLE_TIMEOUT_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=SETTLE_TIMEOUT_SECONDS)

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
        while not self._is_closing:
            self._wake.clear()
            try:
                is_held = self._writer.lease is None or self._switch.is_paused
                wait = MAX_SLEEP_SECONDS if is_held else await self._work()
            except SessionLockedError:
                log.warning("another window has become the writer")
                continue
            if wait > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(wait, MAX_SLEEP_SECONDS)):
                        await self._wake.wait()


class RequestWorker(Worker):
    """Runs the requests of the play."""

    name = "request worker"

    def cancel(self, request_id: RequestId) -> bool:
        """Stop a request that a model has, or is about to have, and return True.

        Returns False for prompts that are only queued; those are withdrawn instead.
        """
        if self._performer.stop(request_id):
            return True
        request = commands.find_request(self._writer.snapshot, request_id)
        is_about_to = request.is_processing or not isinstance(request, ReplyRequest)
        if not (request.state.is_open and is_about_to):
            return False
        self._performer.refuse(request_id)
        self._wake.set()
        return True

    def _next(self, snapshot: Snapshot) -> Request | None:
        return next_request(snapshot)

    def _stop_for_close(self) -> None:
        self._performer.stop()

    async def _work(self) -> float:
        request = next_request(self._writer.snapshot)
        if request is not None:
            if not await self._summarises_early(request):
                await self._performer.perform(request.id)
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
        if self._performer.is_unwanted(request.id) or not may_summarise_early(
            self._writer.snapshot, self._clock()
        ):
            return False
        try:
            snapshot = await self._writer.know_memory()
        except StorageError:
            log.warning("memory could not be read before request %s; its own attempt reports why", request.id)
            return False
        if not await self._executor.needs_room(snapshot, request):
            return False
        with suppress(IllegalCommandError):
            await self._writer.apply_patiently(
                lambda current: commands.summarise_early(current, self._clock())
            )
        return True


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

    Prompts wait for a summary, for further replies to the prompt before them, and for a failed prompt before
    them, because they may depend on its reply. A request that is stored as processing has not been run yet:
    the worker settles one before it takes the next.
    """
    is_held_up = bool(snapshot.failed(ReplyRequest))
    further = snapshot.further_reply
    candidates = [
        request
        for request in snapshot.open_requests
        if snapshot.session.state in request.spec.runs_in
        and not (is_held_up and isinstance(request, ReplyRequest))
        and (further is None or request is further or not isinstance(request, ReplyRequest))
    ]
    # One that was moved down before it began has a higher number than a new prompt.
    return min(candidates, key=lambda request: (not request.is_processing, request.order), default=None)


def next_retry(snapshot: Snapshot, now: datetime) -> datetime | None:
    """Return when a failed summary is retried automatically; only while the chapter is played."""
    if snapshot.session.state is not SessionState.ACTIVE:
        return None
    times = [
        due
        for request in snapshot.failed(SummaryRequest)
        if (due := retry_time(request, now)) is not None and _may_follow(snapshot.session, request)
    ]
    return min(times, default=None)


def _may_follow(session: Session, request: SummaryRequest) -> bool:
    """Whether a summary is of the prompts after the boundary, or of a block that is built again.

    The end of the chapter, once it is wanted, goes before the latter, which would call it off.
    """
    if is_rebuilt(session, request):
        return not session.is_ending
    return request.prompts.first == session.boundary + 1
