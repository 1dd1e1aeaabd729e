"""The tests of a file share a database, with what the file makes in it; each takes back what it did."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.store.servers import cloned, plain_url


@pytest.fixture(scope="module")
def url(template: str) -> Iterator[str]:
    """A database for the tests of a file."""
    yield from cloned(template)


@pytest.fixture
def raw(url: str) -> Iterator[psycopg.Connection]:
    """SQL past all of our code: keys that wait for the commit are checked at once; taken back at the end."""
    with (
        psycopg.connect(plain_url(url), autocommit=True) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        yield connection
