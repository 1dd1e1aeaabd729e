"""Reads many rows in parts, between which the program does other work."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.ids import SessionId

T = TypeVar("T")

LARGE_ROWS: Final = 40
"""Rows that are read at once of those with long texts: blocks of memory, requests, calls."""
SMALL_ROWS: Final = 200
"""Rows that are read at once of those with short texts: events. Of more, a key would wait."""
_TO_THE_END: Final = text("SET LOCAL cursor_tuple_fraction = 1")
"""Has the server plan for all rows of a cursor, and not for the first ones."""


def in_parts(
    query: Select[Any], to_domain: Callable[[Any], T], rows: int
) -> Callable[[AsyncConnection, SessionId], Awaitable[list[T]]]:
    """Return what reads the rows of a query of a chapter, so many at once, by a cursor of the server."""

    async def read(connection: AsyncConnection, _: SessionId) -> list[T]:
        await connection.execute(_TO_THE_END)
        result = await connection.stream(query.execution_options(yield_per=rows))
        return [to_domain(row) async for part in result.partitions() for row in part]

    return read
