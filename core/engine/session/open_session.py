"""A session that is open in this window: its workers, and how it begins, takes over and closes."""

import asyncio
import logging
from collections.abc import Callable

from core.agents.context_builder import ContextBuilder
from core.domain.errors import IllegalCommandError, StorageError, StoryEngineError
from core.domain.session.state_machine import Command
from core.engine.changes.absences import paused_in_library, paused_slots
from core.engine.changes.moves import why_not
from core.engine.decisions.recovery import recover, withdraw_queued_prompts
from core.engine.queue.background import BackgroundWorker, another_round
from core.engine.queue.jobs import JobFactory
from core.engine.queue.worker import RequestWorker
from core.engine.scene import staging
from core.engine.services.save_points.auto_save import AutoSaver
from core.engine.services.speaking.afterthoughts import Afterthoughts
from core.engine.services.speaking.heartbeats import Heartbeats
from core.engine.session.assist import Assist
from core.engine.session.cast_work import CastWork
from core.engine.session.condenser import Condenser
from core.engine.session.engine_parts import EngineParts
from core.engine.session.money import Money
from core.engine.session.vectors import MissingVectors
from core.engine.sync.notifications import WriterChanged, WriterGone
from core.engine.sync.session_tasks import Follower, LeaseWatch
from core.engine.sync.session_writer import SessionWriter
from core.storage.changes import Changes
from core.storage.session_store import WriterInfo
from core.storage.snapshot import Snapshot

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS = 5.0
"""Seconds to wait for the store when a session is closed; the next opening repairs the rest."""

Repair = Callable[[Snapshot], Changes | None]


class OpenSession:
    """The services and workers of one open session, which begin, wake and end together."""

    on_closed: Callable[[], None] | None = None
    """Called once it is closed."""

    def __init__(self, writer: SessionWriter, parts: EngineParts) -> None:
        gateway, play = parts.gateway, parts.play
        self.id = writer.snapshot.session.id
        self._writer = writer
        self._store, self._clock = writer.store, writer.clock
        self._builder = builder = ContextBuilder(gateway.choices)
        jobs = JobFactory(self._store, gateway, builder, writer.apply_paid, parts.bank, parts.embeddings)
        self._worker = RequestWorker(writer, jobs, play.backoffs, parts.switch)
        self.background = background = BackgroundWorker(writer, jobs, play.backoffs, parts.switch)
        self._auto_saver = AutoSaver(writer, parts.save_points)
        self._condenser = Condenser(writer, background, builder, gateway.choices.condensing)
        self.afterthoughts = Afterthoughts(writer, background, play.afterthoughts, play.idle_clock)
        self.heartbeats = Heartbeats(writer, background, play.hints)
        self.money = Money(writer, builder, gateway, parts.guard, parts.bank, background.spend_more)
        self.assist = Assist(writer, background, gateway)
        self.cast_work = CastWork(writer, background, gateway)
        self.vectors = MissingVectors(writer, background, parts.embeddings)
        self.fades_at = parts.bank.fades_at
        self._follower = Follower(writer)
        self._watch = LeaseWatch(writer, self._worker.learn_pause)
        self._closing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        """Held while this window becomes the writer, or ends: it does neither while it does the other."""
        writer.on_adopted = self._wake
        writer.on_locked_out = self._follower.start
        if parts.guard is not None:
            writer.on_calls_stored = parts.guard.forget_stored
            parts.guard.tell_soon()  # what the engine before this one left open

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

    def why_not(self, command: Command) -> str:
        """Return why `command` is refused now; empty when it is possible."""
        return why_not(self.snapshot, command)

    def _wake(self) -> None:
        """Wake the workers, after a change of the session."""
        self._worker.wake()
        self.background.wake()
        self.afterthoughts.look()

    async def end_pauses(self) -> None:
        """Bring back those that were away because of a pause in the library which is over."""
        if not (paused_slots(self.snapshot.session) and self.can(Command.SET_PRESENT)):
            return
        paused = await paused_in_library(self._store.library, self.snapshot, self._clock())
        await self._repair(lambda snapshot: staging.end_pauses(snapshot, paused, self._clock()))

    async def take_over(self) -> bool:
        """Become the writer if no other window is; return whether this one writes now."""
        async with self._turn:
            if not self.is_read_only or self._closing is not None:
                return not self.is_read_only
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
            self._follower.note_recovery()
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
        self._auto_saver.start()
        self._condenser.start()
        self._worker.start()
        self.background.wake()

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
        async with self._turn:
            await self._watch.aclose()
            await self.assist.aclose()
            # A command whose caller was cancelled may still be storing its changes.
            await self._writer.finish(CLOSE_TIMEOUT_SECONDS)
            # Queued prompts before the running one, so that their texts return in the order of play.
            await self._repair_at_close(lambda snapshot: withdraw_queued_prompts(snapshot, self._clock()))
            await self.afterthoughts.aclose()
            await asyncio.gather(self._worker.aclose(), self.background.aclose())
            # A request may have begun while the worker ended.
            await self._repair_at_close(self._recovered)
            self._writer.listeners.close()
            await self._auto_saver.aclose()
            await self._condenser.aclose()
            await self._writer.aclose(IllegalCommandError("The chapter is closed; open it again to go on."))
            await self._follower.aclose()  # A writer that is locked out starts it, until it is closed.
            if self.on_closed is not None:
                self.on_closed()

    async def _repair_at_close(self, repair: Repair) -> None:
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._repair(repair)
        except (StoryEngineError, TimeoutError) as error:
            log.warning("what is open in chapter %s is repaired at its next opening: %r", self.id, error)

    async def _repair(self, repair: Repair) -> None:
        if not self.is_read_only and repair(self.snapshot) is not None:
            await self._writer.apply(lambda snapshot: repair(snapshot) or Changes(session_id=self.id))

    def _recovered(self, snapshot: Snapshot) -> Changes | None:
        return recover(snapshot, self._clock(), self._worker.backoffs)
