"""Runs statements of recall over a connection of its own, which plans each once (design 15).

A pooled connection would plan them again for the first ten inputs, and for each input where these are half an
hour apart. Planning takes as long as a statement itself, and so do the pool and its rows in the program.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from psycopg import AsyncRawCursor
from sqlalchemy import URL, Select

from db.connections import DRIVER, RawConnection
from db.errors import LOAD, guarded
from db.writes.commit_connection import CommitConnection

_Read = TypeVar("_Read")
_SETTINGS: Final = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', false),"
    # Every statement finds its rows by an index. A walk through the table or by a bitmap would give vectors
    # in another order than that of their keys (`recall_parts.by_meaning`).
    " set_config('enable_bitmapscan', 'off', false), set_config('enable_seqscan', 'off', false),"
    # Sorting all of them by their distance is what the index is there to spare.
    " set_config('enable_sort', $1, false)"
)
_ITERATIVE: Final = "hnsw.iterative_scan"
_OF_INDEX: Final = (
    # As many at once as are wanted, and more while the label of an item or its validity refuses some, which
    # pgvector has from version 0.8 on. The vector has it loaded: what it does not know is not there.
    "SELECT set_config(name, CASE name WHEN 'hnsw.ef_search' THEN $1 ELSE 'strict_order' END, false)"
    " FROM pg_settings WHERE name IN ('hnsw.ef_search', $2) AND '[1]'::halfvec IS NOT NULL"
)
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 100, 1_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement as the driver takes it."""

    text: str
    parameters: Sequence[str]
    """The names of its parameters, in their order."""
    fixed: Mapping[str, object]
    """The values of those that are always the same."""
    columns: Sequence[str]


class RecallConnection:
    """Runs statements over one connection, which is opened by the first of them."""

    def __init__(self, url: URL) -> None:
        self._connection: Final = CommitConnection(url)
        self._set_on: tuple[RawConnection, str] | None = None
        """The connection that has settings, and how many the index gives at once; empty without it."""
        self._asked = 0
        """The number of statements that run or wait."""

    @property
    def is_open(self) -> bool:
        """Whether a statement has opened it."""
        return self._connection.is_open

    @property
    def is_busy(self) -> bool:
        """Whether a statement runs or waits for its turn."""
        return self._asked > 0

    async def rows(self, statement: Select[Any], values: Mapping[str, object]) -> Sequence[dict[str, Any]]:
        """Return the rows of a statement by their columns, as `tuples`; raises StorageError."""
        columns = _prepared(statement).columns
        found = await self.tuples(statement, values, is_binary=False, by_index=None)
        return [dict(zip(columns, row, strict=True)) for row in found]

    async def tuples(
        self,
        statement: Select[Any],
        values: Mapping[str, object],
        *,
        is_binary: bool = True,
        by_index: int | None = 0,
    ) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a statement; raises StorageError.

        With `is_binary` values come as the server has them, which spares both sides to write and read texts.
        `by_index` is how many items are wanted of the index of vectors; 0 where it is not used, None where a
        statement is run alike with it and without.
        """
        prepared = _prepared(statement)
        known = {**prepared.fixed, **values}
        parameters = [known[name] for name in prepared.parameters]
        at_once = str(min(max(by_index, _FEWEST_AT_ONCE), _MOST_AT_ONCE)) if by_index else ""

        async def work(connection: RawConnection) -> Sequence[tuple[Any, ...]]:
            cursor = AsyncRawCursor(connection)
            known = self._set_on
            is_set = known is not None and known[0] is connection and by_index is None
            if not is_set and known != (connection, at_once):
                await cursor.execute(_SETTINGS, ("off" if at_once else "on",))
                if at_once:
                    await cursor.execute(_OF_INDEX, (at_once, _ITERATIVE))
                self._set_on = connection, at_once
            await cursor.execute(prepared.text, parameters, prepare=True, binary=is_binary)
            return await cursor.fetchall()

        self._asked += 1
        try:
            async with guarded(LOAD):
                return await self._connection.run(work)
        finally:
            self._asked -= 1

    async def aclose(self) -> None:
        """Close the connection."""
        self._set_on = None
        await self._connection.aclose()


async def together(read: Sequence[Coroutine[Any, Any, _Read]]) -> Sequence[_Read]:
    """Return what is read at the same time; where one fails the others are given up."""
    tasks = [asyncio.create_task(one) for one in read]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


@lru_cache(maxsize=64)
def _prepared(statement: Select[Any]) -> Prepared:
    """Return a statement with its parameters by number: those by name the driver would look for each time."""
    dialect: Any = sa.URL.create(DRIVER).get_dialect()
    compiled: Any = statement.compile(dialect=dialect(paramstyle="numeric_dollar"))
    columns = [str(column.key) for column in statement.selected_columns]
    return Prepared(str(compiled), compiled.positiontup, compiled.params, columns)
