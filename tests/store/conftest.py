"""Every store test runs on two real servers, each test in a database of its own, cloned from a template."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import psycopg
import pytest

from core.domain.session.session import Session
from core.storage.session_store import Lease
from db.store import PostgresStore, open_store
from tests.store.chapters import locked_session
from tests.store.servers import (
    TEMPLATE,
    administer,
    cloned,
    database_of,
    plain_server,
    plain_url,
)

ON_BOTH = {
    "test_change_listener",
    "test_connections",
    "test_writer_lock",
    "test_a_backup_restores_into_an_empty_database",
    "test_an_empty_database_is_brought_up_once_by_many",
    "test_chapters_are_replaced_only_when_asked",
    "test_the_password_is_in_no_argument",
}
"""Modules and tests of what may differ between the private server and one that is reached by a URL."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run on both servers what is about the connection, the role or the server itself."""
    if "server_url" in metafunc.fixturenames:
        names = {metafunc.module.__name__.rpartition(".")[2], metafunc.function.__name__}
        kinds = ["private", "plain"] if names & ON_BOTH else ["private"]
        metafunc.parametrize("server_url", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def plain_template() -> Iterator[str]:
    """The URL of a server that is reached through TCP with a password, with a template database."""
    with plain_server() as server:
        made = database_of(server.url)
        administer(server.url, "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", TEMPLATE, made)
        yield server.url


@pytest.fixture(scope="session")
def server_url(request: pytest.FixtureRequest) -> str:
    """The private server through its socket, or a plain one; its URL, with a template database."""
    return str(request.getfixturevalue(f"{request.param}_template"))


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """The server's URL."""
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
def here(private_url: str) -> Iterator[str]:
    """A database of the private server with nothing in it."""
    yield from cloned(private_url, "template0")


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    """A store on a database of its own."""
    async with aclosing(await open_store(url)) as opened:
        yield opened


@pytest.fixture
async def locked(store: PostgresStore) -> tuple[Session, Lease]:
    """A session with its lock block, and the writer's lease."""
    return await locked_session(store)


@pytest.fixture
def raw(url: str) -> Iterator[psycopg.Connection]:
    """Run SQL past all of our code, as anyone with the password can."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        yield connection
