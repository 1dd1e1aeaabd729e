"""The index of vectors, for stories that are too large for a look at each of their vectors (design 15).

It is approximate: of the hundred nearest of 100,000 made-up vectors it found 99.9 on average. A small story
needs none, so that it is made when there are many vectors, and used for a story that has many of them.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa
from sqlalchemy import URL
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.bank.recall import Query
from core.domain.errors import StorageError
from db.connections import close_quietly, open_connection
from db.errors import SAVE, guarded
from db.transactions import Transactions

log = logging.getLogger(__name__)

INDEXED_FROM: Final = 20_000
"""Vectors in the database from which on they have an index; for five times as many it took a minute."""
USED_FROM: Final = 10_000
"""Vectors of a story from which on the index is faster than a look at each of them, if there are no others.
It gives those too: for a third of 100,000 vectors it takes as long as a look at each."""
MOST_DIMENSIONS: Final = 4_000
"""Maximum dimensions of an index of half-precision vectors."""
_CHECK_EVERY: Final = 1_000
"""Vectors that are stored here between two looks at how many there are."""
_BUILD_SECONDS: Final = 600.0
_LOCK_KEY: Final = 0x5E0_4154_10B7
_REMEMBERED_SECONDS: Final = 300.0
"""Seconds for which numbers of vectors are cached."""
_MOST_REMEMBERED: Final = 8
"""Numbers that are cached."""


def index_name(dimensions: int) -> str:
    """Return the name of the index of vectors with so many numbers."""
    return f"ix_bank_vector_{dimensions}"


def is_faster(of_story: int, of_all: int) -> bool:
    """Whether the index finds the items of a story faster than a look at each of its vectors.

    That look takes longer the more the story has, and the index, the smaller a part of all it is.
    `of_all` may be an old number.
    """
    return of_story**2 >= USED_FROM * max(of_all, of_story)


class VectorIndex:
    """Knows whether vectors have an index, and makes it."""

    def __init__(self, transactions: Transactions, url: URL) -> None:
        self._database: Final = transactions
        self._url: Final = url
        self._numbers: dict[tuple[object, ...], tuple[float, int]] = {}
        """The last numbers of vectors, and until when they are taken for true."""
        self._until_check = 0

    async def serves(self, query: Query) -> bool:
        """Whether what a query looks for by meaning is found by the index."""
        indexed = await self._indexed(len(query.vector or ()))
        if not indexed:
            return False
        return is_faster(await self._of_story(query), indexed)

    async def stored(self, count: int, dimensions: int) -> None:
        """Take note of vectors that were stored; make the index where there are enough of them now."""
        self._until_check -= count
        if self._until_check > 0 or not 0 < dimensions <= MOST_DIMENSIONS:
            return
        self._until_check = _CHECK_EVERY
        self._numbers.clear()
        if await self._indexed(dimensions) or await self._database.read(_counted_up_to) < INDEXED_FROM:
            return
        try:
            await self._make(dimensions)
        except StorageError as error:
            log.warning("vectors have no index, and are looked at one by one: %r", error.__cause__ or error)

    async def _indexed(self, dimensions: int) -> int:
        """Return about how many vectors there are, if those with so many numbers have an index; else 0."""
        name = index_name(dimensions)
        return await self._number(("indexed", name), _COUNT_INDEXED, {"name": name})

    async def _of_story(self, query: Query) -> int:
        """Return how many vectors the chapters of a query have."""
        ids = [scope.session_id for scope in query.scopes]
        return await self._number(("story", *ids), _COUNT, {"ids": ids})

    async def _number(
        self, key: tuple[object, ...], counted: sa.TextClause, values: Mapping[str, object]
    ) -> int:
        """Return a number that the database gives, as it was some minutes ago."""
        now = asyncio.get_running_loop().time()
        until, number = self._numbers.get(key, (0.0, 0))
        if now >= until:

            async def look(connection: AsyncConnection) -> int:
                return int((await connection.execute(counted, values)).scalar_one())

            number = await self._database.read(look)
            self._numbers.pop(key, None)
            while len(self._numbers) >= _MOST_REMEMBERED:
                del self._numbers[next(iter(self._numbers))]
            self._numbers[key] = now + _REMEMBERED_SECONDS, number
        return number

    async def _make(self, dimensions: int) -> None:
        statement = (
            f"CREATE INDEX IF NOT EXISTS {index_name(dimensions)} ON bank_vector"
            f" USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops)"
            f" WHERE vector_dims(embedding) = {dimensions}"
        )
        async with guarded(SAVE, seconds=_BUILD_SECONDS):
            connection = await open_connection(self._url)
            try:
                async with connection.transaction():
                    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
                    # All of it in memory: on disk it would take many times as long.
                    await connection.execute(
                        "SELECT set_config('statement_timeout', '0', true),"
                        " set_config('maintenance_work_mem', '192MB', true)"
                    )
                    await connection.execute(statement)
            finally:
                await close_quietly(connection)
        self._numbers.clear()


_COUNT_INDEXED: Final = sa.text(
    "SELECT CASE WHEN to_regclass(:name) IS NULL THEN 0 ELSE greatest("
    "(SELECT reltuples FROM pg_class WHERE oid = to_regclass('bank_vector')), 1) END"
)
_COUNT: Final = sa.text("SELECT count(*) FROM bank_vector WHERE session_id = ANY (CAST(:ids AS uuid[]))")
_COUNT_ALL: Final = sa.text(
    f"SELECT count(*) FROM (SELECT FROM bank_vector LIMIT {INDEXED_FROM}) AS some_of_them"
)


async def _counted_up_to(connection: AsyncConnection) -> int:
    return int((await connection.execute(_COUNT_ALL)).scalar_one())
