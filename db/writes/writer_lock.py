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

FOR_A_MOMENT: Final = ", which stores what was kept"
"""End of the label of a holder that is no window: it gives the lock back at once."""
_ANSWER: Final = 10.0
_TRIES: Final = 50
"""Tries of the lock while such a holder has it; `store_kept` ends after as many pauses."""

_TRY: Final = sql.SQL("LISTEN {}; SELECT pg_try_advisory_lock({})")
"""Two statements in one message to the server: listening costs no round trip."""
_UNLOCK: Final[LiteralString] = "SELECT pg_advisory_unlock(%s)"
_TAKE: Final[LiteralString] = (
    "UPDATE session SET writer_epoch = writer_epoch + 1, writer_label = %s, writer_since = now()"
    " WHERE id = %s RETURNING writer_epoch, (SELECT is_paused FROM queue_state)"
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


async def acquire(
    url: URL, session_id: SessionId, label: str, on_close: Callable[[WriterLease], None], queue: QueueListener
) -> WriterLease | WriterInfo:
    """Acquire the lock, or return its holder; raise StorageError when the session does not exist.

    One that has it for a moment is waited for: taken for a window, it would lock out one that lost its
    connection, or open a chapter for reading alone.
    """
    for _ in range(_TRIES):
        found = await _tried(url, session_id, label, on_close, queue)
        if isinstance(found, WriterLease) or label.endswith(FOR_A_MOMENT):
            break
        if not found.label.endswith(FOR_A_MOMENT):
            break
        await _pause()
    return found


async def _pause() -> None:
    await asyncio.sleep(0.1)


async def _tried(
    url: URL, session_id: SessionId, label: str, on_close: Callable[[WriterLease], None], queue: QueueListener
) -> WriterLease | WriterInfo:
    connection = await open_connection(url)
    try:
        if await _is_locked(connection, lock_key(session_id)):
            row = await _row(connection, _TAKE, label, session_id) or _refuse(session_id)
            epoch, is_paused = row
            queue.on_pause_state(is_paused=bool(is_paused))
            return WriterLease(connection, session_id, epoch, on_close, queue.on_message)
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
    query = select(SESSION.c.writer_label.label("who"), since.label("since"), is_held.label("is_held"))
    row = (await connection.execute(query.where(SESSION.c.id == session_id))).one_or_none()
    if row is None:
        raise missing()
    return WriterInfo(label=row.who, since=row.since) if row.is_held else None


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


def _refuse(session_id: SessionId) -> NoReturn:
    raise missing()
