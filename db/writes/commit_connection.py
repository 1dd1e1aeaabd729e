"""Sends commits over one connection of their own, one at a time, apart from the pool for reads.

A commit is one statement (see `commit_statement`): acquiring a pooled connection, configuring it and
returning it would cost the client more than the commit itself.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import URL

from db.connections import RawConnection, close_quietly, open_connection
from db.errors import is_lost_connection, is_read_only, is_undone
from db.writes.commit_statement import LONG_TIMEOUT, Write

T = TypeVar("T")

_PING: Final[Write] = ("SELECT 1", {})


class CommitConnection:
    """Sends writes over one connection, which is opened on first use and reopened when it is lost."""

    def __init__(self, url: URL) -> None:
        self._url: Final = url
        self._turn: Final = asyncio.Lock()
        self._connection: RawConnection | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was opened, and is not known to be lost."""
        return self._connection is not None

    async def send(self, write: Write) -> tuple[Any, ...]:
        """Send a write, and once more on a new connection when an old one turns out to be dead.

        Safe even if only the answer was lost: a commit is idempotent. Returns the first row.
        """
        return await self.run(_sending(write))

    async def send_once(self, write: Write) -> tuple[Any, ...]:
        """Send a write that must not be repeated, after a test of the connection; return the first row."""
        async with self._turn:
            await self._run_twice(_sending(_PING))
            return await self._run(_sending(write))

    async def run(self, work: Callable[[RawConnection], Awaitable[T]]) -> T:
        """Run what may be repeated, after a deadlock or on a new connection where an old one is dead."""
        async with self._turn:
            return await self._run_twice(work)

    async def aclose(self) -> None:
        """Close the connection."""
        async with self._turn:
            await self._drop()

    async def _run_twice(self, work: Callable[[RawConnection], Awaitable[T]]) -> T:
        is_old = self._connection is not None
        try:
            return await self._run(work)
        except psycopg.Error as error:
            if not (is_undone(error) or (is_old and is_lost_connection(error))):
                raise
            return await self._run(work)

    async def _run(self, work: Callable[[RawConnection], Awaitable[T]]) -> T:
        if self._connection is None:
            self._connection = await open_connection(self._url)
        try:
            return await work(self._connection)
        except psycopg.Error as error:
            if is_read_only(error):
                await self._drop()
            raise
        finally:
            # Lost, or cancelled during a statement: a later answer could belong to an earlier statement.
            connection = self._connection
            if connection is not None and connection.pgconn.transaction_status != TransactionStatus.IDLE:
                await self._drop()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await close_quietly(connection)


async def send_long(url: URL, write: Write) -> tuple[Any, ...]:
    """Send a write that may take minutes, while commits go on beside it; return its first row."""
    connection = await open_connection(url)
    try:
        async with connection.transaction():
            await connection.execute(LONG_TIMEOUT)
            return await _sending(write)(connection)
    finally:  # Cancelled too: what is not committed yet ends with its connection.
        await close_quietly(connection)


def _sending(write: Write) -> Callable[[RawConnection], Awaitable[tuple[Any, ...]]]:
    """Return what sends a write, and returns its first row."""

    async def work(connection: RawConnection) -> tuple[Any, ...]:
        cursor = await connection.execute(*write)
        return await cursor.fetchone() or ()

    return work
