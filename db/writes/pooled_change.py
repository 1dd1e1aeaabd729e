"""A change over a pooled connection, which is made once, also where the answer to its commit is lost."""

from collections.abc import Awaitable, Callable
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DataError
from sqlalchemy.ext.asyncio import AsyncConnection

from db.pool import Pool

_TRANSACTION: Final = text("SELECT pg_current_xact_id_if_assigned()::text")
_STATE: Final = text("SELECT pg_xact_status(CAST(:transaction AS xid8))")


class PooledChange:
    """Runs `work` in a transaction; `make` may be repeated on a new connection when one was lost."""

    def __init__(self, pool: Pool, work: Callable[[AsyncConnection], Awaitable[object]]) -> None:
        self._pool = pool
        self._work = work
        self._transaction: str | None = None
        """The id of the transaction that was to be committed."""

    async def make(self) -> None:
        """Make the change, unless an earlier try is stored already."""
        if self._transaction is not None and await self._is_stored(self._transaction):
            return
        async with self._pool.begin() as connection:
            await self._work(connection)
            self._transaction = (await connection.execute(_TRANSACTION)).scalar_one()

    async def _is_stored(self, transaction: str) -> bool:
        async with self._pool.connect() as connection:
            try:
                state = await connection.execute(_STATE, {"transaction": transaction})
                return bool(state.scalar_one() == "committed")
            except DataError:  # a standby has taken over, and has not come as far
                return False
