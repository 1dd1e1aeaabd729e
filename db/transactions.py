"""Runs the work of a store over pooled connections, in transactions and as single statements."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import psycopg
from sqlalchemy import Select, text
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.errors import ErrorCode
from core.domain.ids import SessionId
from db.errors import DEADLINE, LOAD, SAVE, guarded, is_lost_connection, is_undone
from db.pool import Pool
from db.reads import queries as reads
from db.reads.streamed import in_parts

T = TypeVar("T")
_TRANSACTION: Final = text("SELECT pg_current_xact_id_if_assigned()::text")
_STATE: Final = text("SELECT pg_xact_status(CAST(:transaction AS xid8))")


@dataclass(frozen=True, slots=True)
class Transactions:
    """Runs work once more where a pooled connection had been lost, or after a deadlock.

    Each method raises StorageError.
    """

    pool: Pool

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run any number of queries on one consistent snapshot of the database."""

        async def run() -> T:
            async with self.pool.connect() as connection:
                await connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
                return await work(connection)

        async with guarded(LOAD):
            return await self._once_more(run)

    async def change(
        self, work: Callable[[AsyncConnection], Awaitable[object]], *, seconds: float = DEADLINE
    ) -> None:
        """Run `work` and commit, within so many seconds; once, also where the answer to a commit is lost."""
        transaction: str | None = None

        async def run() -> None:
            nonlocal transaction
            if transaction is not None and await self._is_stored(transaction):
                return
            async with self.pool.begin() as connection:
                await work(connection)
                transaction = (await connection.execute(_TRANSACTION)).scalar_one()

        async with guarded(SAVE, seconds=seconds):
            await self._once_more(run)

    async def rows(self, query: Select[Any], values: Mapping[str, object] | None = None) -> Sequence[Any]:
        """Return the rows of one query."""
        return await self.at_once(query, values, LOAD)

    async def at_once(
        self, statement: Select[Any], values: Mapping[str, object] | None = None, code: ErrorCode = SAVE
    ) -> Sequence[Any]:
        """Run one statement, which is a transaction of its own, in one round trip; return its rows."""

        async def run() -> Sequence[Any]:
            async with self.pool.connect() as connection:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                return list(await connection.execute(statement, values))

        async with guarded(code):
            return await self._once_more(run)

    async def of_chapter(
        self, session_id: SessionId, read: Callable[[AsyncConnection, SessionId], Awaitable[T]]
    ) -> T:
        """Run queries of one chapter, which an error about unreadable values names."""
        with reads.of_chapter(session_id):
            return await self.read(lambda connection: read(connection, session_id))

    async def mapped(
        self, session_id: SessionId, query: Select[Any], to_domain: Callable[[Any], T], at_once: int = 0
    ) -> list[T]:
        """Return the rows of one query of a chapter as values, read so many at once."""
        if at_once:  # All rows of a long chapter would hold up a key for some tenths of a second.
            return await self.of_chapter(session_id, in_parts(query, to_domain, at_once))
        with reads.of_chapter(session_id):
            return list(map(to_domain, await self.rows(query)))

    async def _is_stored(self, transaction: str) -> bool:
        async with self.pool.connect() as connection:
            try:
                state = await connection.execute(_STATE, {"transaction": transaction})
                return bool(state.scalar_one() == "committed")
            except DataError:  # a standby has taken over, and has not come as far
                return False

    async def _once_more(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()
        except (DBAPIError, psycopg.Error) as error:
            if is_lost_connection(error):
                await self.pool.renew()
            elif not is_undone(error):
                raise
        return await work()
