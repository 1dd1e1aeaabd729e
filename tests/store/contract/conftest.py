"""The same tests on PostgreSQL and in memory."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import pytest

from core.store import SessionStore
from db.store import open_store
from tests.store.in_memory.memory_store import MemoryDatabase, MemoryStore
from tests.store.servers import cloned

OpenWindow = Callable[[], Awaitable[SessionStore]]


@pytest.fixture(params=["on PostgreSQL", "in memory"])
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A database of the test's own, or None where the store is in memory."""
    if request.param == "in memory":
        yield None
    else:
        yield from cloned(request.getfixturevalue("private_template"))


@pytest.fixture
async def open_window(postgres_url: str | None) -> AsyncIterator[OpenWindow]:
    """Open stores that share what they store; each is closed at the end."""
    database = MemoryDatabase()
    async with AsyncExitStack() as opened:

        async def open_one() -> SessionStore:
            one = await open_store(postgres_url) if postgres_url else MemoryStore(database)
            opened.push_async_callback(one.aclose)
            return one

        yield open_one


@pytest.fixture
async def store(open_window: OpenWindow) -> SessionStore:
    """The first window's store."""
    return await open_window()
