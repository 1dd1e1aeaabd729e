"""Copies of a database as an earlier program left it, which a file makes once, by its function `make`."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.store.made_data import migrate
from tests.store.servers import cloned, database_of


@pytest.fixture(scope="module")
def old(request: pytest.FixtureRequest, private_url: str) -> Iterator[str]:
    """The name of a database that the file has made, which no test changes."""
    for url in cloned(private_url, "template0"):
        asyncio.run(request.module.make(url))
        yield database_of(url)


@pytest.fixture(scope="module")
def upgraded(private_url: str, old: str) -> Iterator[str]:
    """The name of a copy that was upgraded, which no test changes."""
    for url in cloned(private_url, old):
        asyncio.run(migrate(url))
        yield database_of(url)


@pytest.fixture
def old_url(private_url: str, old: str) -> Iterator[str]:
    """A database of the earlier program."""
    yield from cloned(private_url, old)


@pytest.fixture
def upgraded_url(private_url: str, upgraded: str) -> Iterator[str]:
    """A database that was upgraded."""
    yield from cloned(private_url, upgraded)
