"""The connection that commits go through, one at a time, apart from the pool that reads.

A commit is one statement (see `db.commit_statement`), so what surrounds it counts: taking a connection from
the pool, setting it up and giving it back cost more than all the rest that happens on this side.
"""

import asyncio
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import URL

from db.commit_statement import Write
from db.connections import Connection, close_quietly, open_connection
from db.errors import is_lost_connection, is_read_only

_PING: Final[Write] = ("SELECT 1", {})


class CommitConnection:
    """Sends writes over one connection, which is made when first needed and again when it was lost."""

    def __init__(self, url: URL) -> None:
        self._url: Final = url
        self._turn: Final = asyncio.Lock()
        self._connection: Connection | None = None

    async def send(self, write: Write) -> None:
        """Send a write; where an old connection turns out to be dead, once more on a new one.

        Sending again is right although the answer may have been all that was lost: a commit makes
        true what it made true before.
        """
        async with self._turn:
            await self._send_twice(write)

    async def send_once(self, write: Write) -> tuple[Any, ...]:
        """Send a write that must not be repeated, on a connection that was alive just now.

        Returns the first row of its answer.
        """
        async with self._turn:
            await self._send_twice(_PING)
            return await self._send(write)

    async def aclose(self) -> None:
        """Close the connection."""
        async with self._turn:
            await self._drop()

    async def _send_twice(self, write: Write) -> None:
        is_old = self._connection is not None
        try:
            await self._send(write)
        except psycopg.Error as error:
            if not (is_old and is_lost_connection(error)):
                raise
            await self._send(write)

    async def _send(self, write: Write) -> tuple[Any, ...]:
        if self._connection is None:
            self._connection = await open_connection(self._url)
        text, parameters = write
        try:
            cursor = await self._connection.execute(text, parameters)
            return await cursor.fetchone() or ()
        except psycopg.Error as error:
            if is_read_only(error):
                await self._drop()
            raise
        finally:
            # Lost, or abandoned in the middle: what would answer the next statement is unknown.
            connection = self._connection
            if connection is not None and connection.pgconn.transaction_status != TransactionStatus.IDLE:
                await self._drop()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await close_quietly(connection)
