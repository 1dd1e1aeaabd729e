"""The list of chapters of a store in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.domain.errors import ErrorCode, SessionLockedError, StorageError
from core.domain.ids import SessionId
from core.domain.session.session import SessionSummary
from core.storage.changes import Changes
from tests.store.in_memory.memory_database import MemoryDatabase, give_way


@dataclass
class MemoryChapters:
    """The `ChapterStore` of every window."""

    database: MemoryDatabase

    async def create(self, changes: Changes) -> None:
        await give_way()
        self.database.create(changes)

    async def find_or_create(self, changes: Changes) -> tuple[SessionId, bool]:
        if changes.session is None or not changes.session.script_key:
            raise ValueError("only a session of a script can be found")
        known = await self.find_script(changes.session.script_key)
        if known is None:
            self.database.create(changes)
        return known or changes.session_id, known is None

    async def listed(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        await give_way()
        listed = [rows.summary for rows in self.database.sessions.values()]
        listed = [one for one in listed if is_archived == (one.archived_at is not None)]
        return sorted(listed, key=lambda one: (one.updated_at, one.id), reverse=True)

    async def find_script(self, script_key: str) -> SessionId | None:
        await give_way()
        runs = [rows for rows in self.database.runs(script_key) if rows.session.archived_at is None]
        return runs[-1].session.id if runs else None

    async def archive(self, session_id: SessionId, at: datetime | None) -> None:
        rows = await self.database.rows(session_id)
        rows.session = replace(rows.session, archived_at=at)
        self.database.notify(session_id)

    async def purge(self, session_id: SessionId) -> None:
        rows = await self.database.rows(session_id)
        if rows.writer is not None:
            raise SessionLockedError("Another window has this chapter open; close it there, then delete it.")
        if rows.session.archived_at is None:
            raise StorageError(
                ErrorCode.STORAGE_SAVE_FAILED,
                "Only an archived chapter is deleted; archive it first.",
                is_transient=False,
            )
        del self.database.sessions[session_id]
        self.database.notify(session_id)
