"""The same tests on PostgreSQL and in memory."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import pytest

from core.storage.session_store import SessionStore
from db.store import PostgresStore, open_store
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore
from tests.store.servers import cloned, give_back

OpenWindow = Callable[[], Awaitable[SessionStore]]
Database = str | MemoryDatabase
"""The URL of a database on PostgreSQL, or one in memory."""
ALONE = {f"test_{name}_contract" for name in ("chapters", "costs", "library", "pause", "proposals", "rates")}
"""Files whose tests read what belongs to no chapter: each test has a database of its own."""


@pytest.fixture(scope="module", params=["on PostgreSQL", "in memory"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _made(request: pytest.FixtureRequest, kind: str) -> Iterator[Database]:
    if kind == "in memory":
        yield MemoryDatabase()
    else:
        yield from cloned(request.getfixturevalue("private_template"))


@pytest.fixture
def own_database(request: pytest.FixtureRequest, kind: str) -> Iterator[Database]:
    yield from _made(request, kind)


@pytest.fixture(scope="module")
def shared_database(request: pytest.FixtureRequest, kind: str) -> Iterator[Database]:
    yield from _made(request, kind)


async def _open(database: Database) -> SessionStore:
    return await open_store(database) if isinstance(database, str) else MemoryStore(database)


@pytest.fixture
async def own_store(own_database: Database) -> AsyncIterator[SessionStore]:
    opened = await _open(own_database)
    yield opened
    await opened.aclose()


@pytest.fixture(scope="module")
async def shared_store(shared_database: Database) -> AsyncIterator[SessionStore]:
    opened = await _open(shared_database)
    yield opened
    await opened.aclose()


@pytest.fixture
def whose(request: pytest.FixtureRequest) -> str:
    """The owner of a test's database."""
    return "own" if request.module.__name__.rpartition(".")[2] in ALONE else "shared"


@pytest.fixture
def opened(request: pytest.FixtureRequest, kind: str, whose: str) -> SessionStore:
    made: SessionStore = request.getfixturevalue(f"{whose}_store")
    return made


@pytest.fixture
async def store(opened: SessionStore) -> AsyncIterator[SessionStore]:
    """The first window's store."""
    yield opened
    if isinstance(opened, PostgresStore):
        await give_back(opened)


@pytest.fixture
def database(request: pytest.FixtureRequest, kind: str, whose: str) -> Database:
    """The database that the windows of a test share."""
    made: Database = request.getfixturevalue(f"{whose}_database")
    return made


@pytest.fixture
async def open_window(database: Database) -> AsyncIterator[OpenWindow]:
    """Open stores that share what they store; each is closed at the end."""
    async with AsyncExitStack() as opened:

        async def open_one() -> SessionStore:
            one = await _open(database)
            opened.push_async_callback(one.aclose)
            return one

        yield open_one
