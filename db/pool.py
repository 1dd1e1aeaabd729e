"""The pooled connections of a store, all of which are returned before it is closed."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

log = logging.getLogger(__name__)

_LONGEST_WAIT: Final = 2.0
"""Seconds that the end of a program waits for reads under way, each of which may take far longer."""


class Pool:
    """Lends the connections of an engine. Safe to use from many tasks of one event loop."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine: Final = engine
        self._asked = 0
        """Connections that are lent, or asked for."""
        self._lent: Final[set[AsyncConnection]] = set()
        self._are_back: Final = asyncio.Event()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncConnection]:
        """Lend a connection to the block, and take it back also where the caller is cancelled."""
        self._asked += 1
        try:
            connection = await self.engine.connect()
        except BaseException:  # cancelled too: it would count as lent
            self._returned()
            raise
        self._lent.add(connection)
        try:
            yield connection
        finally:
            returning = asyncio.create_task(connection.close(), name="return a connection")
            returning.add_done_callback(partial(self._returned, connection))
            await asyncio.shield(returning)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """Lend a connection to the block with a transaction, which is committed at its end."""
        async with self.connect() as connection, connection.begin():
            yield connection

    async def renew(self) -> None:
        """Close those that are not lent: they are lost."""
        await self.engine.dispose()

    async def aclose(self) -> None:
        """Close every connection, once all are returned; what is not in time loses the one it uses.

        A loop that ends before would leave them in their transactions to the garbage collector.
        """
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                while self._asked:
                    self._are_back.clear()
                    await self._are_back.wait()
        except TimeoutError:
            log.warning("%d connections are closed while they are used", len(self._lent))
            for connection in tuple(self._lent):
                if not connection.closed:
                    await connection.invalidate()
        await self.engine.dispose()

    def _returned(
        self, connection: AsyncConnection | None = None, returning: asyncio.Task[None] | None = None
    ) -> None:
        self._asked -= 1
        if connection is not None:
            self._lent.discard(connection)
        if not self._asked:
            self._are_back.set()
        if returning is not None and not returning.cancelled():
            returning.exception()  # A cancelled caller does not ask for it.
