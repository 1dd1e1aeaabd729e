"""The engine: opens sessions and keeps the chapter list. A screen, a script and the tests call the same."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.agents.context_builder import Context, ContextBuilder
from core.config.models import ModelAssignments
from core.domain.errors import SessionLockedError
from core.domain.ids import SessionId, new_uuid
from core.domain.session import SessionSummary
from core.domain.slot import Slot
from core.engine import commands
from core.engine.clock import Clock, utc_now
from core.engine.queue.executor import Executor
from core.engine.queue.model_call import Caller
from core.engine.queue.rate_limit import RateLimiter
from core.engine.queue.worker import Runner
from core.engine.save_points.auto_save import AutoSaver
from core.engine.save_points.service import SavePoints
from core.engine.session_handle import SessionHandle
from core.engine.sync.follower import Follower
from core.engine.sync.lease_watch import LeaseWatch
from core.engine.sync.session_writer import Writer
from core.engine.sync.subscriptions import Listeners
from core.providers.base import Provider
from core.store import Changes, Lease, Snapshot, Store, WriterInfo, written_elsewhere


class Engine:
    """Everything that can be done with sessions, on one store and one provider."""

    def __init__(
        self,
        store: Store,
        provider: Provider,
        choices: ModelAssignments,
        *,
        label: str,
        summary_backoff: float = 5.0,
        clock: Clock = utc_now,
    ) -> None:
        self.store = store
        self.provider = provider
        self.choices = choices
        self._label = label
        self._backoff = summary_backoff
        self._clock = clock
        self._limiter = RateLimiter(choices)
        self.save_slots = SavePoints(store, clock)

    async def create(self, *, script_key: str = "") -> SessionId:
        """Store a new, empty session and return its id."""
        session_id = SessionId(new_uuid())
        await self.store.create(
            commands.new_session(self._clock(), session_id=session_id, script_key=script_key)
        )
        return session_id

    async def find_or_create(self, script_key: str) -> tuple[SessionId, bool]:
        """Return the session that goes on with a script, made when there is none, and whether it is new."""
        fresh = commands.new_session(self._clock(), session_id=SessionId(new_uuid()), script_key=script_key)
        return await self.store.find_or_create(fresh)

    async def open(self, session_id: SessionId) -> SessionHandle:
        """Open a session to write in it, or read-only when another window does."""
        taken = await self.store.acquire(session_id, self._label)
        try:
            opened = self._opened(await self.store.load(session_id), taken)
        except BaseException:  # cancelled too: no other code knows of the lock
            if not isinstance(taken, WriterInfo):
                await taken.aclose()
            raise
        if isinstance(taken, WriterInfo):
            opened.begin_following()
            return opened
        try:
            await opened.begin_writing()
        except BaseException:  # cancelled too: no other code knows of the session
            await opened.aclose()
            raise
        return opened

    def _opened(self, snapshot: Snapshot, taken: Lease | WriterInfo) -> SessionHandle:
        writer = Writer(
            store=self.store,
            listeners=Listeners(),
            label=self._label,
            snapshot=snapshot,
            clock=self._clock,
            lease=None if isinstance(taken, WriterInfo) else taken,
            holder=taken if isinstance(taken, WriterInfo) else None,
        )
        builder = ContextBuilder(self.choices)
        caller = Caller(self.provider, self._limiter, self._clock)
        executor = Executor(self.store, caller, builder, self.choices, writer.apply_patiently)
        runner = Runner(writer, executor, self._clock, self._backoff)
        follower = Follower(self.store, writer)
        watch = LeaseWatch(self.store, writer)
        keeper = AutoSaver(writer, self.save_slots)
        return SessionHandle(
            self.store, writer, builder, runner, follower, watch, keeper, self._clock, self._backoff
        )

    async def sessions(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        """Return the chapter list, last played first."""
        return await self.store.sessions(is_archived=is_archived)

    async def archive(self, session_id: SessionId) -> None:
        """Take a session off every screen; it can be restored.

        Raises SessionLockedError when a window writes in it; one that is open here archives itself.
        """
        taken = await self.store.acquire(session_id, self._label)
        if isinstance(taken, WriterInfo):
            raise written_elsewhere(taken)
        try:
            await self.store.archive(session_id, self._clock())
        finally:
            await taken.aclose()

    async def restore(self, session_id: SessionId) -> None:
        """Bring an archived session back."""
        await self.store.archive(session_id, None)

    async def purge(self, session_id: SessionId) -> None:
        """Delete an archived session for good."""
        await self.store.purge(session_id)

    async def retitle(self, session_id: SessionId, title: str) -> None:
        """Retitle a session that is not open here; raise SessionLockedError when another window has it."""
        await self._change(
            session_id, lambda snapshot: commands.retitle(snapshot, title, self._clock()), "rename it there"
        )

    async def correct_canon(self, session_id: SessionId, text: str) -> None:
        """Correct canon in a session that is not open here; raise as `retitle` does."""
        builder = ContextBuilder(self.choices)
        await self._change(
            session_id,
            lambda snapshot: commands.correct_canon(snapshot, builder, text, None, self._clock()),
            "correct it there",
            needs_memory=True,
        )

    async def _change(
        self,
        session_id: SessionId,
        decide: Callable[[Snapshot], Changes],
        elsewhere: str,
        *,
        needs_memory: bool = False,
    ) -> None:
        taken = await self.store.acquire(session_id, self._label)
        if isinstance(taken, WriterInfo):
            raise SessionLockedError(f"This chapter is open elsewhere ({taken.label}); {elsewhere}.")
        try:
            snapshot = await self.store.load(session_id)
            if needs_memory:
                blocks = tuple(await self.store.memory(session_id))
                snapshot = replace(snapshot, blocks=blocks, is_memory_known=True)
            await self.store.commit(decide(snapshot), taken)
        finally:
            await taken.aclose()

    async def preview(self, session_id: SessionId, slot: Slot, prompt_text: str) -> Context:
        """Return exactly what would be sent to the character in `slot`; nothing is sent."""
        snapshot = await self.store.load(session_id)
        commands.require_cast(snapshot.session, slot)
        memory = await self.store.memory(session_id)
        return ContextBuilder(self.choices).character(
            snapshot.session, snapshot.tab1, memory, snapshot.recent, slot, prompt_text
        )

    async def aclose(self) -> None:
        """Release the provider and the store; close every open session before."""
        await self.provider.aclose()
        await self.store.aclose()
