"""`ChapterStore` on PostgreSQL (design 4 and 11)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import URL, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.ids import SessionId
from core.domain.session.session import SessionSummary
from core.storage.changes import Changes
from db.errors import DEADLINE, PATIENCE, SAVE, guarded
from db.reads import queries as reads
from db.reads.chapter_lists import read_sessions
from db.tables import SESSION
from db.transactions import Transactions
from db.writes import commit_statement as writes
from db.writes.commit_connection import CommitConnection, send_long
from db.writes.purge import purge_session
from db.writes.unstored import UnstoredCommits


@dataclass(frozen=True, slots=True)
class PostgresChapters:
    """The list of the chapters of one database."""

    _url: URL
    _database: Transactions
    _commit_connection: CommitConnection
    _unstored: UnstoredCommits

    async def create(self, changes: Changes) -> None:
        """Store a new session with everything in `changes`, also for an import."""
        while not await self._stores_new(changes):
            pass  # another session of the same script was stored at the same moment

    async def find_or_create(self, changes: Changes) -> tuple[SessionId, bool]:
        """Find a script's session, or store this one; see `ChapterStore.find_or_create`."""
        if changes.session is None or not changes.session.script_key:
            raise ValueError("only a session of a script can be found")
        while (known := await self.find_script(changes.session.script_key)) is None:
            if await self._stores_new(changes, is_only_open=True):
                return changes.session_id, True
        return known, False

    async def listed(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        """Return the chapter list, last played first."""
        return await self._database.read(
            lambda connection: read_sessions(connection, is_archived=is_archived)
        )

    async def find_script(self, script_key: str) -> SessionId | None:
        """Return the newest session, not archived, that a chapter script with this key made."""
        query = select(SESSION.c.id).where(
            SESSION.c.script_key == script_key, SESSION.c.script_key != "", SESSION.c.archived_at.is_(None)
        )
        rows = await self._database.rows(query.order_by(SESSION.c.script_run.desc()).limit(1))
        return SessionId(rows[0].id) if rows else None

    async def archive(self, session_id: SessionId, at: datetime | None) -> None:
        """Archive a session at that time, or restore it (None)."""

        async def work(connection: AsyncConnection) -> None:
            statement = update(SESSION).where(SESSION.c.id == session_id).values(archived_at=at)
            if (await connection.execute(statement.returning(SESSION.c.id))).one_or_none() is None:
                raise reads.missing()
            await connection.execute(writes.notice_to(session_id))

        await self._database.change(work)

    async def purge(self, session_id: SessionId) -> None:
        """Delete an archived session and all below it; refuse one that is not archived, or is written in."""
        await self._database.change(
            lambda connection: purge_session(connection, session_id), seconds=PATIENCE
        )
        await self._unstored.forget(session_id)

    async def _stores_new(self, changes: Changes, *, is_only_open: bool = False) -> bool:
        seconds = writes.deadline_of(changes)
        async with guarded(SAVE, seconds=seconds):
            creation = writes.creation(changes, is_only_open=is_only_open)
            is_long, once = seconds > DEADLINE, self._commit_connection.send_once
            count, *_ = await (send_long(self._url, creation) if is_long else once(creation))
        return bool(count)
