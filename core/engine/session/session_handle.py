"""A session that is open in this window: the commands of the GM, and notifications."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial

from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError, StorageError, StoryEngineError
from core.domain.ids import RequestId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import (
    BackgroundRequest,
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    SummaryRequest,
    TestCallRequest,
)
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.engine.changes.absences import paused_in_library, paused_slots, slots_of
from core.engine.changes.moves import why_not
from core.engine.decisions import commands
from core.engine.decisions.recovery import recover, withdraw_queued_prompts
from core.engine.decisions.transitions import time_of_service
from core.engine.kinds.test_call import record_of_test_call
from core.engine.queue.background import another_round
from core.engine.queue.changes import NOT_FAILED
from core.engine.queue.order import begun_with
from core.engine.scene import staging
from core.engine.scene.service import Scene
from core.engine.services.bank.keeping import BankKeeping, EarlierItems
from core.engine.services.bank.service import Bank
from core.engine.services.takes.service import Takes
from core.engine.session.quiesce import apply_when_idle
from core.engine.session.reset import reset_session
from core.engine.session.session_edits import OpenSessionEdits
from core.engine.session.session_parts import SessionParts
from core.engine.session.session_reader import SessionReader
from core.engine.sync.notifications import BankChanged, WriterChanged, WriterGone
from core.engine.sync.session_tasks import Follower, LeaseWatch
from core.engine.sync.subscriptions import Listener
from core.gateway.model_gateway import CallResult
from core.storage.changes import Changes
from core.storage.session_store import WriterInfo, written_elsewhere
from core.storage.snapshot import Snapshot

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS = 5.0
"""Seconds to wait for the store when a session is closed; the next opening repairs the rest."""

Repair = Callable[[Snapshot], Changes | None]


class SessionHandle:
    """Commands in, notifications out. Every command is durable when it returns.

    Commands raise IllegalCommandError when the state refuses, LimitExceededError when a text is too
    long, SessionLockedError when another window writes, and StorageError when the store cannot save.
    """

    def __init__(self, parts: SessionParts) -> None:
        writer = parts.writer
        self.id = writer.snapshot.session.id
        self._parts, self._store, self._writer, self._clock = parts, writer.store, writer, writer.clock
        self._worker, self.background = parts.worker, parts.background
        self.afterthoughts, self.heartbeats = parts.afterthoughts, parts.heartbeats
        self.money, self.assist, self.cast_work = parts.money, parts.assist, parts.cast_work
        self.fades_at, self.make_vectors = parts.fades_at, parts.make_vectors
        self.prepare_search = parts.prepare_search
        self.reads = SessionReader(writer.store, self.id)
        self.edits = OpenSessionEdits(writer, parts.builder)
        self.earlier = EarlierItems(writer)
        self.keeping = BankKeeping(writer, self.background)
        self.takes = Takes(writer, self._worker, self._ask)
        self.scene = Scene(writer, parts.builder, writer.clock)
        self._follower, self._watch = Follower(writer), LeaseWatch(writer)
        self._apply_when_idle = partial(apply_when_idle, writer, self.cancel)
        self._closing: asyncio.Task[None] | None = None
        writer.on_adopted = parts.wake
        writer.on_locked_out = self._follower.start

    @property
    def snapshot(self) -> Snapshot:
        """The current session."""
        return self._writer.snapshot

    @property
    def holder(self) -> WriterInfo | None:
        """The other window that writes; None when this one writes or the other is known to be gone."""
        return self._writer.holder

    @property
    def is_read_only(self) -> bool:
        """Whether this window only reads, because another is, or was, the writer."""
        return self._writer.lease is None

    def can(self, command: Command) -> bool:
        """Whether `command` is possible now."""
        return not (self.is_read_only or self.why_not(command))

    def why_not(self, command: Command, snapshot: Snapshot | None = None) -> str:
        """Return why `command` is refused in `snapshot` (default: now); empty when it is possible."""
        return why_not(snapshot or self.snapshot, command)

    def listen(self) -> AbstractContextManager[Listener]:
        """Return a context with a listener for every notification from now on."""
        return self._writer.listeners.listen()

    async def newest_canon(self, *, known_to: Slot | None = None) -> Sequence[Event]:
        """Return the newest events of the story, or those that a character witnessed, for the transcript."""
        length = self.snapshot.session.limits.transcript
        return await self._store.newest_canon(self.id, length, known_to=known_to)

    @cached_property
    def bank(self) -> Bank:
        """The GM's commands on the items of this chapter; made on first use."""
        told = partial(self._writer.listeners.publish, BankChanged())
        return Bank(self._store.bank, self.id, self._clock, self._writing, told, self.make_vectors)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        self._writer.require_writer()
        yield

    async def wait(self, request_id: RequestId) -> Request:
        """Wait until a request is settled and return it.

        Raises SessionLockedError when another window becomes the writer meanwhile, IllegalCommandError when
        the session is closed before or has no such request.
        """
        for request in self.snapshot.requests:
            if request.id == request_id:
                return await self._writer.waiters.wait(request_id) if request.state.is_open else request
        stored = {request.id: request for request in await self._store.requests(self.id)}
        if request_id not in stored:
            raise IllegalCommandError("There is no such call in this chapter.")
        return stored[request_id]

    async def wait_idle(self) -> None:
        """Return when no request is open."""
        while open_requests := self.snapshot.open_requests:
            await self._writer.waiters.wait(open_requests[0].id)

    async def create_save_point(self, occasion: str) -> None:
        """Create an automatic save point before the current state is replaced."""
        await self._parts.auto_saver.create_now(occasion)

    async def lock(self) -> RequestId:
        """Lock tab 1 and begin the first summary."""
        paused = await paused_in_library(self._store, self.snapshot, self._clock())
        return await self._ask(lambda snapshot: commands.lock(snapshot, self._clock(), paused))

    async def paused(self) -> frozenset[Slot]:
        """Return the slots that would be away if the chapter were locked now: paused in the library."""
        paused = await paused_in_library(self._store, self.snapshot, self._clock())
        return slots_of(self.snapshot.tab1, paused) & frozenset(self.snapshot.session.slots)

    async def end_pauses(self) -> None:
        """Bring back those that were away because of a pause in the library which is over."""
        if not (paused_slots(self.snapshot.session) and self.can(Command.SET_PRESENT)):
            return
        paused = await paused_in_library(self._store, self.snapshot, self._clock())
        await self._repair(lambda snapshot: staging.end_pauses(snapshot, paused, self._clock()))

    async def submit_prompt(
        self,
        slot: Slot,
        text: str,
        *,
        heard_by: Audience | None = None,
        then: Sequence[Slot] = (),
        is_typed: bool = True,
    ) -> RequestId:
        """Send a prompt to the character in `slot`, or queue it; those in `then` answer after that one.

        Those present hear it, or those in `heard_by`; all who are called always do.
        `is_typed` says that the text is the content of the slot's composer, which is cleared; otherwise the
        composer keeps its other text.
        """
        await self.end_pauses()
        return await self._ask(
            lambda snapshot: commands.submit_prompt(
                snapshot, slot, text, self._clock(), heard_by=heard_by, then=then, is_typed=is_typed
            )
        )

    def time_of_service(self, request: Request) -> datetime | None:
        """Return the time before which the service asked not to receive a failed request again."""
        return time_of_service(request, self._parts.backoffs)

    async def withdraw(self, request_id: RequestId) -> None:
        """Withdraw a queued or failed prompt; its text is in its composer."""
        await self._writer.apply(lambda snapshot: commands.withdraw(snapshot, request_id, self._clock()))

    async def cancel(self, request_id: RequestId) -> None:
        """Stop a running request, which fails, or withdraw a queued one."""
        self._writer.require_writer()
        if isinstance(commands.find_request(self.snapshot, request_id), BackgroundRequest):
            await self.background.stop(request_id)
        elif not self._worker.cancel(request_id):
            await self.withdraw(request_id)

    async def retry(self, request_id: RequestId) -> RequestId:
        """Retry a failed request, or work that waits for its next try; return the id of the new attempt."""
        request = commands.find_request(self.snapshot, request_id)
        if not (request.has_failed or request.spec.is_background):
            raise IllegalCommandError(NOT_FAILED)
        match request:
            case LockRequest():
                return await self.lock()
            case ReplyRequest(prompts=PromptRange()):
                return await self.takes.ask_again(request)
            case ReplyRequest(slot=slot, text=text, audience=audience, then=then):
                return await self.submit_prompt(slot, text, heard_by=audience, then=then, is_typed=False)
            case SummaryRequest():
                await self._writer.apply(
                    lambda snapshot: commands.retry_summary(snapshot, self._clock(), request_id)
                )
                return request_id
            case NarrativeRequest():
                return await self.build_narrative(viewpoint=request.viewpoint)
            case BackgroundRequest():
                await self.background.retry(request_id)
                return request_id
            case TestCallRequest():
                raise ValueError("a test call is given up as soon as it has failed")

    async def record_test_call(self, test: TestCallRequest, result: CallResult) -> None:
        """Store the provenance of a test call."""
        await self._writer.apply(lambda _: record_of_test_call(test, result, self._clock()))

    async def end_chapter(self) -> None:
        """End the chapter, after a last summary if one is needed."""
        await self._writer.apply(lambda snapshot: commands.end_chapter(snapshot, self._clock()))

    async def build_narrative(self, *, viewpoint: Slot | None = None) -> RequestId:
        """Build a new draft, from a character's viewpoint if one is given; earlier ones stay."""
        return await self._ask(
            lambda snapshot: commands.build_narrative(snapshot, self._clock(), viewpoint=viewpoint)
        )

    async def reset(self) -> SessionId:
        """Archive this session, close it, and start a new one in its place; return its id (design 5)."""
        self._writer.require_writer()
        new_id = await reset_session(
            self._writer,
            self._apply_when_idle,
            self.create_save_point,
            partial(self.why_not, Command.RESET),
        )
        await self.aclose()
        return new_id

    async def archive(self) -> None:
        """Stop all requests and archive this session; it can be restored unchanged.

        Raises SessionLockedError when another window writes; takes over from one that is gone.
        """
        if not await self.take_over():
            raise written_elsewhere(self.holder)
        await self._apply_when_idle(
            lambda snapshot: Changes(
                session_id=self.id, session=replace(snapshot.session, archived_at=self._clock())
            )
        )

    async def take_over(self) -> bool:
        """Become the writer if no other window is; return whether this one writes now."""
        if not self.is_read_only:
            return True
        acquired = await self._store.acquire(self.id, self._writer.label)
        if isinstance(acquired, WriterInfo):
            self._learn(acquired)
            return False
        try:
            await self._follower.aclose()
            await self._writer.become_writer(acquired)
            await self.begin_writing()
        except BaseException:  # cancelled too: a window that does not write holds no lock, and follows
            await acquired.aclose()
            await self._writer.stop_writing()
            self._follower.start()
            raise
        self._writer.listeners.publish(WriterChanged(None))
        return True

    async def look_for_writer(self) -> WriterInfo | None:
        """Query and return the other window that writes, or None; publish a change.

        Only a query detects a writer that crashed, because it stores nothing more.
        """
        found = await self._store.writer_of(self.id)
        if not self.is_read_only:  # This window became the writer during the query.
            return None
        self._learn(found)
        return found

    def _learn(self, holder: WriterInfo | None) -> None:
        if holder != self._writer.holder:
            self._writer.holder = holder
            self._writer.listeners.publish(WriterGone() if holder is None else WriterChanged(holder))

    async def begin_writing(self) -> None:
        """Repair the session after a crash, and start the workers; this window holds the writer's lock."""
        await self._repair(self._recovered)
        try:
            await self._repair(lambda snapshot: another_round(snapshot, self._clock))
        except StorageError as error:
            # It stays as it was; the next opening asks again, and this one goes on.
            log.warning("work beside the play is not taken up again now: %r", error)
        await self.end_pauses()
        await self.afterthoughts.begin()
        self._watch.start()
        self._parts.start()

    def begin_following(self) -> None:
        """Follow the window that writes."""
        self._follower.start()

    async def aclose(self) -> None:
        """Stop and settle the running request, withdraw queued prompts, and release the lock.

        Cancelling the caller does not interrupt it; a further call waits for the same end.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close {self.id}")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._watch.aclose()
        await self.assist.aclose()
        # A command whose caller was cancelled may still be storing its changes.
        await self._writer.finish(CLOSE_TIMEOUT_SECONDS)
        # Queued prompts before the running one, so that their texts return in the order of play.
        await self._repair_at_close(lambda snapshot: withdraw_queued_prompts(snapshot, self._clock()))
        await self._parts.stop_calls()
        # A request may have begun while the worker ended.
        await self._repair_at_close(self._recovered)
        await self._follower.aclose()
        self._writer.listeners.close()
        await self._parts.aclose()
        await self._writer.aclose(IllegalCommandError("The chapter is closed; open it again to go on."))

    async def _repair_at_close(self, repair: Repair) -> None:
        with suppress(StoryEngineError, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._repair(repair)

    async def _repair(self, repair: Repair) -> None:
        if not self.is_read_only and repair(self.snapshot) is not None:
            await self._writer.apply(lambda snapshot: repair(snapshot) or Changes(session_id=self.id))

    def _recovered(self, snapshot: Snapshot) -> Changes | None:
        return recover(snapshot, self._clock(), self._parts.backoffs)

    async def _ask(self, decide: commands.Ask) -> RequestId:
        """Store a new request, which begins in the same transaction if nothing runs and nothing is paused."""
        asked: list[RequestId] = []

        def changes(snapshot: Snapshot) -> Changes:
            made, request_id = decide(snapshot)
            asked.append(request_id)
            return made if self._worker.is_paused else begun_with(snapshot, made, self._clock())

        await self._writer.apply(changes)
        return asked[-1]
