"""Deletes an archived session (design 4)."""

from sqlalchemy import delete, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.errors import SessionLockedError
from core.domain.ids import SessionId
from db.reads.queries import missing
from db.tables import SESSION
from db.writes.commit_statement import LONG_TIMEOUT, notice_to
from db.writes.writer_lock import lock_key


async def purge_session(connection: AsyncConnection, session_id: SessionId) -> None:
    """Delete a session and all below it; raise SessionLockedError while it is written in."""
    await connection.execute(text(LONG_TIMEOUT))
    lock = func.pg_try_advisory_xact_lock(lock_key(session_id))
    if not (await connection.execute(select(lock))).scalar_one():
        raise SessionLockedError("Another window has this chapter open; close it there, then delete it.")
    # Triggers refuse to delete any session but the one that this setting names.
    await connection.execute(select(func.set_config("storyengine.purge", str(session_id), True)))
    gone = delete(SESSION).where(SESSION.c.id == session_id).returning(SESSION.c.id)
    if (await connection.execute(gone)).one_or_none() is None:
        raise missing()
    await connection.execute(notice_to(session_id))
