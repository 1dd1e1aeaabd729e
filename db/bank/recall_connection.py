"""Runs statements of recall over a connection of its own, which plans each once (design 15).

A pooled connection would plan them again for the first ten inputs, and for each input where these are half an
hour apart. Planning takes as long as a statement itself, and so do the pool and its rows in the program.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa
from psycopg import AsyncRawCursor
from sqlalchemy import URL, Select

from db.connections import DRIVER, Connection
from db.errors import LOAD, guarded
from db.writes.commit_connection import CommitConnection

_SETTINGS: Final = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', false),"
    # As many at once as are wanted, and more while the label of an item or its validity refuses some.
    " set_config('hnsw.ef_search', $1, false), set_config('hnsw.iterative_scan', 'strict_order', false),"
    # Sorting all of them by their distance is what the index is there to spare.
    " set_config('enable_sort', $2, false)"
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
        self._set_on: tuple[Connection, tuple[str, str]] | None = None
        """The connection that has settings, and which."""

    async def rows(
        self, statement: Select[Any], values: Mapping[str, object], *, is_binary: bool = False
    ) -> Sequence[dict[str, Any]]:
        """Return the rows of a statement by their columns, as `tuples`; raises StorageError."""
        columns = _prepared(statement).columns
        found = await self.tuples(statement, values, is_binary=is_binary)
        return [dict(zip(columns, row, strict=True)) for row in found]

    async def tuples(
        self,
        statement: Select[Any],
        values: Mapping[str, object],
        *,
        is_binary: bool = True,
        by_index: int = 0,
    ) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a statement; raises StorageError.

        With `is_binary` values come as the server has them, which spares both sides to write and read texts.
        `by_index` is how many items are wanted of the index of vectors; 0 where it is not used.
        """
        prepared = _prepared(statement)
        known = {**prepared.fixed, **values}
        parameters = [known[name] for name in prepared.parameters]
        settings = (str(min(max(by_index, _FEWEST_AT_ONCE), _MOST_AT_ONCE)), "off" if by_index else "on")

        async def work(connection: Connection) -> Sequence[tuple[Any, ...]]:
            cursor = AsyncRawCursor(connection)
            if self._set_on is None or self._set_on[0] is not connection or self._set_on[1] != settings:
                await cursor.execute(_SETTINGS, settings)
                self._set_on = connection, settings
            await cursor.execute(prepared.text, parameters, prepare=True, binary=is_binary)
            return await cursor.fetchall()

        async with guarded(LOAD):
            return await self._connection.run(work)

    async def aclose(self) -> None:
        """Close the connection."""
        self._set_on = None
        await self._connection.aclose()


@lru_cache(maxsize=64)
def _prepared(statement: Select[Any]) -> Prepared:
    """Return a statement with its parameters by number: those by name the driver would look for each time."""
    dialect: Any = sa.URL.create(DRIVER).get_dialect()
    compiled: Any = statement.compile(dialect=dialect(paramstyle="numeric_dollar"))
    columns = [str(column.key) for column in statement.selected_columns]
    return Prepared(str(compiled), compiled.positiontup, compiled.params, columns)
