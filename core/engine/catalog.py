"""What can be done with sessions that are not open here: list, make, read, archive, export and import."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.domain.clock import Clock
from core.domain.errors import RowRefusedError, SessionLockedError
from core.domain.ids import SessionId, new_uuid
from core.domain.session import SessionSummary
from core.engine import commands
from core.engine.save_points.service import SavePoints
from core.engine.session_reader import SessionReader
from core.exchange.session_export import ImportRefusedError, SessionBody, as_new_session, read_body, to_json
from core.store import Changes, SessionStore, Snapshot, WriterInfo, written_elsewhere


class SessionCatalog:
    """The sessions of one store. No model is needed; whatever writes takes the writer's lock for it."""

    def __init__(self, store: SessionStore, *, label: str, clock: Clock) -> None:
        self.store = store
        self._label = label
        self._clock = clock
        self.save_slots = SavePoints(store, clock)

    def reader(self, session_id: SessionId) -> SessionReader:
        """Return what reads one session."""
        return SessionReader(self.store, session_id)

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
        await self.change(
            session_id, lambda snapshot: commands.retitle(snapshot, title, self._clock()), "rename it there"
        )

    async def change(
        self,
        session_id: SessionId,
        decide: Callable[[Snapshot], Changes],
        elsewhere: str,
        *,
        needs_memory: bool = False,
    ) -> None:
        """Store a change of a session that is not open here; `elsewhere` says what to do where it is open.

        Raises SessionLockedError when another window has it.
        """
        taken = await self.store.acquire(session_id, self._label)
        if isinstance(taken, WriterInfo):
            raise SessionLockedError(f"This chapter is open elsewhere ({taken.label}); {elsewhere}.")
        try:
            load = self.load_with_memory if needs_memory else self.store.load
            snapshot = await load(session_id)
            await self.store.commit(decide(snapshot), taken)
        finally:
            await taken.aclose()

    async def load_with_memory(self, session_id: SessionId) -> Snapshot:
        """Return a session as it is stored, with its memory."""
        snapshot = await self.store.load(session_id)
        blocks = tuple(await self.store.memory(session_id))
        return replace(snapshot, blocks=blocks, is_memory_known=True)

    async def export(self, session_id: SessionId) -> bytes:
        """Return everything that is stored of a session as a document of JSON."""
        body = await read_body(self.store, session_id)
        return await asyncio.to_thread(to_json, body)

    async def import_body(self, body: SessionBody) -> SessionId:
        """Store an exported session as a new one and return its id; nothing that exists is touched.

        Raises ImportRefusedError when the database refuses it. Where the session that was exported is here,
        how it stands goes into a save slot first.
        """
        known = [*await self.sessions(), *await self.sessions(is_archived=True)]
        if any(one.id == body.session.id and one.is_readable for one in known):
            await self.save_slots.create(body.session.id, "before an export of it was imported")
        session_id = SessionId(new_uuid())
        try:
            await self.store.create(as_new_session(body, session_id))
        except RowRefusedError as error:
            raise ImportRefusedError(f"the database refuses what is in it ({error.hint})") from error
        return session_id
