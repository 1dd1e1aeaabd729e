"""Every store test runs on two real servers, each test in a database of its own, cloned from a template."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import count

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from core.session import Session
from core.store import Lease
from db.store import PostgresStore, open_store
from tests.store.chapters import locked_session
from tests.store.servers import plain_server, private_server

TEMPLATE = "story_template"
_numbers = count(1)


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
    _administer(server_url, "CREATE DATABASE {}", TEMPLATE)
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


def in_database(server_url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    return make_url(server_url).set(database=name).render_as_string(hide_password=False)


def plain_url(url: str) -> str:
    """Return the URL as libpq spells it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def cloned(server_url: str, template: str = TEMPLATE) -> Iterator[str]:
    """Make a database from a template, and drop it when done."""
    name = f"story_{next(_numbers)}"
    _administer(server_url, "CREATE DATABASE {} TEMPLATE {}", name, template)
    try:
        yield in_database(server_url, name)
    finally:
        _administer(server_url, "DROP DATABASE {} WITH (FORCE)", name)


def _administer(server_url: str, statement: str, *names: str) -> None:
    with psycopg.connect(plain_url(server_url), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))  # type: ignore[arg-type]


async def _migrate(url: str) -> None:
    await (await open_store(url)).aclose()
