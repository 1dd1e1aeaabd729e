"""A session that is not open here: each change of it takes the writer's lock, and needs no model."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property, partial
from typing import Final
from weakref import WeakValueDictionary

from core.agents.context_builder import ContextBuilder
from core.config.models.assignments import ModelAssignments
from core.domain.clock import Clock
from core.domain.errors import SessionLockedError
from core.domain.ids import SessionId
from core.engine.scene.scene import Scene
from core.engine.services.bank.bank import Bank
from core.engine.services.bank.keeping import keep_bank, material
from core.engine.services.takes.takes import Takes
from core.engine.session.session_edits import SessionEdits
from core.engine.session.session_reader import SessionReader
from core.engine.sync.session_writer import Decide
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore, WriterInfo


class WindowLeases:
    """Acquires writer's locks under the label of this window.

    A change of a closed session holds the lock for a moment. What else this window does with that session
    waits for it; otherwise it would find the session open in a window, which is this one.
    """

    def __init__(self, store: SessionStore, label: str) -> None:
        self.label: Final = label
        self._store = store
        self._turns: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    async def acquire(self, session_id: SessionId) -> Lease | WriterInfo:
        """Acquire the lock to keep it, or return its holder."""
        async with self._turn_of(session_id):
            return await self._store.acquire(session_id, self.label)

    @asynccontextmanager
    async def short(
        self, session_id: SessionId, refusal: Callable[[WriterInfo], SessionLockedError]
    ) -> AsyncIterator[Lease]:
        """Hold the lock for a change; raises `refusal` of its holder where the session is open."""
        async with self._turn_of(session_id):
            acquired = await self._store.acquire(session_id, self.label)
            if isinstance(acquired, WriterInfo):
                raise refusal(acquired)
            try:
                yield acquired
            finally:
                await acquired.aclose()

    def _turn_of(self, session_id: SessionId) -> asyncio.Lock:
        return self._turns.setdefault(session_id, asyncio.Lock())


class ClosedSession:
    """Changes a session that is not open here, by the commands that an open one has.

    Every change raises SessionLockedError, with the advice `elsewhere`, when another window has it open.
    """

    def __init__(
        self,
        store: SessionStore,
        session_id: SessionId,
        leases: WindowLeases,
        choices: ModelAssignments,
        clock: Clock,
        elsewhere: str,
    ) -> None:
        self._store, self._leases, self._elsewhere = store, leases, elsewhere
        self._choices, self._clock = choices, clock
        self.reads = SessionReader(store, session_id)
        self.bank = Bank(store.bank, session_id, clock, self._writing)

    @cached_property
    def scene(self) -> Scene:
        """The commands about who knows what; made on first use."""
        return Scene(self, ContextBuilder(self._choices), self._clock)

    @cached_property
    def edits(self) -> SessionEdits:
        """The commands that change texts, canon, prompt blocks and lore; made on first use."""
        return SessionEdits(self, ContextBuilder(self._choices), self._clock)

    @cached_property
    def takes(self) -> Takes:
        """The commands on the newest prompt that ask no model; made on first use."""
        return Takes(self, self._store, self.reads.id, self._clock)

    async def apply(self, decide: Decide, *, needs_memory: bool = False) -> Changes:
        """Decide a change on the stored session, with its memory if it needs that, and store it."""
        async with self._writing() as lease:
            changes = decide(await self.reads.load(with_memory=needs_memory))
            await self._store.commit(changes, lease)
        return changes

    async def require_closed(self) -> None:
        """Raise SessionLockedError where a window has it open; nothing is held, nor changed."""
        if (holder := await self._store.writer_of(self.reads.id)) is not None:
            raise self._refusal(holder)

    async def keep_bank(self, *, is_on: bool) -> None:
        """Keep a memory bank from here on, or stop keeping one."""
        events, read = await material(self._store, self.reads.id) if is_on else ((), ())
        decide = partial(keep_bank, now=self._clock(), is_on=is_on, events=events, read=read)
        await self.apply(decide, needs_memory=is_on)

    def _writing(self) -> AbstractAsyncContextManager[Lease]:
        return self._leases.short(self.reads.id, self._refusal)

    def _refusal(self, holder: WriterInfo) -> SessionLockedError:
        return SessionLockedError(f"This chapter is open elsewhere ({holder.label}); {self._elsewhere}.")
