"""A session that is not open here: each change of it takes the writer's lock, and needs no model."""

from contextlib import AbstractAsyncContextManager
from functools import cached_property, partial

from core.agents.context_builder import ContextBuilder
from core.config.models.assignments import ModelAssignments
from core.domain.clock import Clock
from core.domain.errors import SessionLockedError
from core.domain.ids import SessionId
from core.engine.scene.service import Scene
from core.engine.services.bank.keeping import keep_bank, material
from core.engine.services.bank.service import Bank
from core.engine.services.takes.service import Takes
from core.engine.session.session_edits import SessionEdits
from core.engine.session.session_reader import SessionReader
from core.engine.session.window_leases import WindowLeases
from core.engine.sync.session_writer import Decide
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore, WriterInfo


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

    async def keep_bank(self, *, is_on: bool) -> None:
        """Keep a memory bank from here on, or stop keeping one."""
        events, read = await material(self._store, self.reads.id) if is_on else ((), ())
        decide = partial(keep_bank, now=self._clock(), is_on=is_on, events=events, read=read)
        await self.apply(decide, needs_memory=is_on)

    def _writing(self) -> AbstractAsyncContextManager[Lease]:
        return self._leases.short(self.reads.id, self._refusal)

    def _refusal(self, holder: WriterInfo) -> SessionLockedError:
        return SessionLockedError(f"This chapter is open elsewhere ({holder.label}); {self._elsewhere}.")
