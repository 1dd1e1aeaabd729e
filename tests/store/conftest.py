"""Every store test runs on two real servers, each test in a database of its own, cloned from a template."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from core.domain.session import Session
from core.store import Lease
from db.store import PostgresStore, open_store
from tests.store.chapters import locked_session
from tests.store.servers import (
    TEMPLATE,
    administer,
    cloned,
    in_database,
    plain_server,
    plain_url,
    private_server,
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", params=["private", "plain"])
def server_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The private server through its socket, then a plain one through TCP with a password."""
    if request.param == "private":
        with private_server() as url:
            yield url
    else:
        with plain_server() as server:
            yield server.url


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """The server's URL, with a template database that is up to date."""
    administer(server_url, "CREATE DATABASE {}", TEMPLATE)
    asyncio.run(_migrate(in_database(server_url, TEMPLATE)))
    return server_url


@pytest.fixture
def empty_url(server_url: str) -> Iterator[str]:
    """A database with nothing in it."""
    yield from cloned(server_url, "template0")


@pytest.fixture
def url(template: str) -> Iterator[str]:
    """A database with the schema and no rows."""
    yield from cloned(template)


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    """A store on a database of its own."""
    opened = await open_store(url)
    try:
        yield opened
    finally:
        await opened.aclose()


@pytest.fixture
async def locked(store: PostgresStore) -> tuple[Session, Lease]:
    """A session with its lock block, and the writer's lease."""
    return await locked_session(store)


@pytest.fixture
def raw(url: str) -> Iterator[psycopg.Connection]:
    """What anyone with the password can do: SQL, past all of our code."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        yield connection


async def _migrate(url: str) -> None:
    await (await open_store(url)).aclose()
