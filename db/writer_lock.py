"""The writer's lock: a PostgreSQL advisory lock on a connection of its own, and an epoch (design 6).

The lock is held by the current writer and ends with its connection. The epoch is a fencing token: every new
writer gets a higher one, and a commit with an older one is refused, so a writer that has lost its connection
without noticing cannot overwrite its successor.
"""

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, LiteralString, NoReturn

import psycopg
from sqlalchemy import URL, BigInteger, cast, column, func, literal, select, table
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.ids import SessionId
from core.store import WriterInfo
from db.change_listener import notifications
from db.connections import Connection, close_quietly, open_connection
from db.queries import missing
from db.tables import SESSION

_ANSWER: Final = 10.0

_TRY: Final[LiteralString] = "SELECT pg_try_advisory_lock(%s)"
_UNLOCK: Final[LiteralString] = "SELECT pg_advisory_unlock(%s)"
_TAKE: Final[LiteralString] = (
    "UPDATE session SET writer_epoch = writer_epoch + 1, writer_label = %s, writer_since = now()"
    " WHERE id = %s RETURNING writer_epoch"
)
_WHO: Final[LiteralString] = (
    "SELECT writer_label, coalesce(writer_since, updated_at) FROM session WHERE id = %s"
)
_HALF: Final = 0xFFFF_FFFF
_LOCKS: Final = table(
    "pg_locks", *map(column, ("locktype", "granted", "objsubid", "classid", "objid", "database"))
)
_DATABASES: Final = table("pg_database", column("oid"), column("datname"))


def lock_key(session_id: SessionId) -> int:
    """Return the key of a session's advisory lock: 8 bytes of the SHA-256 of its UUID, signed."""
    return int.from_bytes(hashlib.sha256(session_id.bytes).digest()[:8], "big", signed=True)


class WriterLease:
    """A `core.store.Lease`: holds the lock until closed or until its connection is lost."""

    def __init__(
        self,
        connection: Connection,
        session_id: SessionId,
        epoch: int,
        on_close: Callable[["WriterLease"], None],
    ) -> None:
        self.session_id: Final = session_id
        self.epoch: Final = epoch
        self._connection = connection
        self._on_close = on_close
        self._is_closed = False
        self._watch = asyncio.create_task(self._until_lost(), name=f"lease of {session_id}")

    @property
    def is_lost(self) -> bool:
        """Whether the connection that held the lock is lost."""
        return self._is_closed or self._watch.done() or self._connection.closed

    async def until_lost(self) -> None:
        """Return once the connection of the lock is lost or the lock released."""
        await asyncio.wait({self._watch})

    @property
    def is_closed(self) -> bool:
        """Whether the lock was released."""
        return self._is_closed

    async def aclose(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._on_close(self)
        self._watch.cancel()
        await asyncio.wait([self._watch], timeout=_ANSWER)
        # Closing alone would release it only once the server's process notices.
        with suppress(psycopg.Error, OSError):
            async with asyncio.timeout(_ANSWER):
                await self._connection.execute(_UNLOCK, (lock_key(self.session_id),))
        await close_quietly(self._connection)

    async def _until_lost(self) -> None:
        with suppress(psycopg.Error, OSError):
            async for _ in notifications(self._connection):
                pass
        self._on_close(self)
        await close_quietly(self._connection)


async def acquire(
    url: URL, session_id: SessionId, label: str, on_close: Callable[[WriterLease], None]
) -> WriterLease | WriterInfo:
    """Acquire the lock, or return its holder; raise StorageError when the session does not exist."""
    connection = await open_connection(url)
    try:
        if (await _row(connection, _TRY, lock_key(session_id)))[0]:
            [epoch] = await _row(connection, _TAKE, label, session_id) or _refuse(session_id)
            return WriterLease(connection, session_id, epoch, on_close)
        holder, since = await _row(connection, _WHO, session_id) or _refuse(session_id)
    except BaseException:  # cancelled too: the lock goes with its connection
        await close_quietly(connection)
        raise
    await close_quietly(connection)
    return WriterInfo(label=holder, since=since)


async def holder_now(connection: AsyncConnection, session_id: SessionId) -> WriterInfo | None:
    """Return the holder of the lock, or None; raise StorageError when the session does not exist.

    Queries the server's list of locks: acquiring the lock could briefly block a window that is just opening.
    """
    key = lock_key(session_id)
    here = select(_DATABASES.c.oid).where(_DATABASES.c.datname == func.current_database())
    is_held = (
        select(literal(1))
        .select_from(_LOCKS)
        .where(
            _LOCKS.c.locktype == "advisory",
            _LOCKS.c.granted,
            _LOCKS.c.database == here.scalar_subquery(),
            # The list splits a key of 8 bytes into two oids.
            _LOCKS.c.objsubid == 1,
            cast(_LOCKS.c.classid, BigInteger) == key >> 32 & _HALF,
            cast(_LOCKS.c.objid, BigInteger) == key & _HALF,
        )
        .exists()
    )
    since = func.coalesce(SESSION.c.writer_since, SESSION.c.updated_at)
    query = select(SESSION.c.writer_label.label("who"), since.label("since"), is_held.label("is_held"))
    row = (await connection.execute(query.where(SESSION.c.id == session_id))).one_or_none()
    if row is None:
        raise missing(session_id)
    return WriterInfo(label=row.who, since=row.since) if row.is_held else None


async def _row(connection: Connection, query: LiteralString, *values: object) -> tuple[Any, ...]:
    """Return the first row, or an empty tuple."""
    return await (await connection.execute(query, values)).fetchone() or ()


def _refuse(session_id: SessionId) -> NoReturn:
    raise missing(session_id)
