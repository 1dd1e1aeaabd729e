"""The writer's lock: a PostgreSQL advisory lock on a connection of its own, and an epoch (design 6).

The lock is held by the current writer and ends with its connection. The epoch is a fencing token: every new
writer gets a higher one, and a commit with an older one is refused, so a writer that has lost its connection
without noticing cannot overwrite its successor.
"""

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, LiteralString, NoReturn

import psycopg
from psycopg import sql
from sqlalchemy import URL, BigInteger, ScalarSelect, cast, column, func, literal, select, table
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.ids import SessionId
from core.storage.session_store import WriterInfo
from db.connections import RawConnection, close_quietly, open_connection
from db.reads.queries import missing
from db.tables import SESSION
from db.writes.change_listener import CHANNEL, QueueListener, notifications

_ANSWER: Final = 10.0
_TRIES: Final = 50
"""Tries of the lock while a holder that is not a window has it; `store_kept` ends after as many pauses."""

_TRY: Final = sql.SQL("LISTEN {}; SELECT pg_try_advisory_lock({})")
"""Two statements in one message to the server: listening costs no round trip."""
_UNLOCK: Final[LiteralString] = "SELECT pg_advisory_unlock(%s)"
_TAKE: Final[LiteralString] = (
    "UPDATE session SET writer_epoch = writer_epoch + 1, writer_label = %s,"
    " writer_since = CASE WHEN %s THEN now() END"
    " WHERE id = %s RETURNING writer_epoch, (SELECT is_paused FROM queue_state)"
)
"""Only a window stores a time; of any other holder it is NULL."""
_WHO: Final[LiteralString] = (
    "SELECT writer_label, coalesce(writer_since, updated_at), writer_since IS NOT NULL"
    " FROM session WHERE id = %s"
)
_HALF: Final = 0xFFFF_FFFF
_LOCKS: Final = table(
    "pg_locks", *map(column, ("locktype", "granted", "objsubid", "classid", "objid", "database"))
)
_DATABASES: Final = table("pg_database", column("oid"), column("datname"))


def lock_key(session_id: SessionId) -> int:
    """Return the key of a session's advisory lock: 8 bytes of the SHA-256 of its UUID, signed."""
    return int.from_bytes(hashlib.sha256(session_id.bytes).digest()[:8], "big", signed=True)


@dataclass(eq=False)
class WriterLease:
    """A `core.storage.session_store.Lease`: holds the lock until closed or until its connection is lost."""

    _connection: RawConnection
    session_id: SessionId
    epoch: int
    _on_close: Callable[["WriterLease"], None]
    _on_message: Callable[[str], None]
    is_closed = False
    """Whether the lock was released."""

    def __post_init__(self) -> None:
        self._watch = asyncio.create_task(self._until_lost(), name=f"lease of {self.session_id}")

    @property
    def is_lost(self) -> bool:
        """Whether the connection that held the lock is lost."""
        return self.is_closed or self._watch.done() or self._connection.closed

    async def until_lost(self) -> None:
        """Return once the connection of the lock is lost or the lock released."""
        await asyncio.wait({self._watch})

    async def aclose(self) -> None:
        """Release the lock; a second call does nothing."""
        if self.is_closed:
            return
        self.is_closed = True
        self._on_close(self)
        self._watch.cancel()
        try:
            await asyncio.wait([self._watch], timeout=_ANSWER)
            # Closing alone would release it only once the server's process notices.
            with suppress(psycopg.Error, OSError):
                async with asyncio.timeout(_ANSWER):
                    await self._connection.execute(_UNLOCK, (lock_key(self.session_id),))
        finally:  # cancelled too: a second call does nothing
            await close_quietly(self._connection)

    async def _until_lost(self) -> None:
        with suppress(psycopg.Error, OSError):
            async for payload in notifications(self._connection):
                self._on_message(payload)
        self._on_close(self)
        await close_quietly(self._connection)


class WriterLocks:
    """The locks of one store."""

    def __init__(self, url: URL, queue: QueueListener) -> None:
        self._url: Final = url
        self._queue: Final = queue
        self.held: Final[set[WriterLease]] = set()

    async def acquire(
        self, session_id: SessionId, label: str, *, is_window: bool = True
    ) -> WriterLease | WriterInfo:
        """Acquire the lock, or return its holder; raise StorageError when the session does not exist.

        A window waits for a holder that is not a window and gives the lock back at once: taken for a window,
        it would lock out one that lost its connection, or open a chapter for reading alone.
        """
        for _ in range(_TRIES):
            found = await self._tried(session_id, label, is_window=is_window)
            if isinstance(found, WriterLease) or found.is_window or not is_window:
                break
            await _pause()
        return found

    async def _tried(self, session_id: SessionId, label: str, *, is_window: bool) -> WriterLease | WriterInfo:
        connection = await open_connection(self._url)
        try:
            if await _is_locked(connection, lock_key(session_id)):
                row = await _row(connection, _TAKE, label, is_window, session_id) or _refuse()
                epoch, is_paused = row
                self._queue.on_pause_state(is_paused=bool(is_paused))
                lease = WriterLease(connection, session_id, epoch, self.held.discard, self._queue.on_message)
                self.held.add(lease)
                return lease
            holder, since, has_window = await _row(connection, _WHO, session_id) or _refuse()
        except BaseException:  # cancelled too: the lock goes with its connection
            await close_quietly(connection)
            raise
        await close_quietly(connection)
        return WriterInfo(label=holder, since=since, is_window=has_window)


async def _pause() -> None:
    await asyncio.sleep(0.1)


async def holder_now(connection: AsyncConnection, session_id: SessionId) -> WriterInfo | None:
    """Return the holder of the lock, or None; raise StorageError when the session does not exist.

    Queries the server's list of locks: acquiring the lock could briefly block a window that is just opening.
    """
    key = lock_key(session_id)
    is_held = (
        select(literal(1))
        .select_from(_LOCKS)
        .where(
            _LOCKS.c.locktype == "advisory",
            _LOCKS.c.granted,
            _LOCKS.c.database == _here(),
            # The list splits a key of 8 bytes into two oids.
            _LOCKS.c.objsubid == 1,
            cast(_LOCKS.c.classid, BigInteger) == key >> 32 & _HALF,
            cast(_LOCKS.c.objid, BigInteger) == key & _HALF,
        )
        .exists()
    )
    since = func.coalesce(SESSION.c.writer_since, SESSION.c.updated_at)
    is_window = SESSION.c.writer_since.is_not(None).label("is_window")
    query = select(SESSION.c.writer_label, since.label("since"), is_window, is_held.label("is_held"))
    row = (await connection.execute(query.where(SESSION.c.id == session_id))).one_or_none()
    if row is None:
        raise missing()
    if not row.is_held:
        return None
    return WriterInfo(label=row.writer_label, since=row.since, is_window=row.is_window)


async def _is_locked(connection: RawConnection, key: int) -> bool:
    cursor = await connection.execute(_TRY.format(sql.Identifier(CHANNEL), sql.Literal(key)), prepare=False)
    cursor.nextset()
    row = await cursor.fetchone()
    return bool(row and row[0])


async def held_locks(connection: AsyncConnection) -> set[int]:
    """Return the keys of all advisory locks that are held in this database, as unsigned numbers."""
    is_ours = (_LOCKS.c.database == _here()) & (_LOCKS.c.objsubid == 1)
    halves = select(cast(_LOCKS.c.classid, BigInteger), cast(_LOCKS.c.objid, BigInteger))
    held = halves.where(_LOCKS.c.locktype == "advisory", _LOCKS.c.granted, is_ours)
    return {high << 32 | low for high, low in await connection.execute(held)}


def _here() -> ScalarSelect[Any]:
    here = select(_DATABASES.c.oid).where(_DATABASES.c.datname == func.current_database())
    return here.scalar_subquery()


async def _row(connection: RawConnection, query: LiteralString, *values: object) -> tuple[Any, ...]:
    """Return the first row, or an empty tuple."""
    return await (await connection.execute(query, values)).fetchone() or ()


def _refuse() -> NoReturn:
    raise missing()
