"""What the whole run shares."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from tests.signals import default_signals_in_children
from tests.store.servers import TEMPLATE, administer, in_database, migrate, private_server


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Have nothing looked through any more: pytest does so five times at its end.

    After some thousand tests that takes longer than the five seconds which a worker is given; it would be
    interrupted, and say so below the closing line.
    """
    gc.freeze()


def pytest_configure() -> None:
    """Look for circles of garbage seldom: every window leaves many, and little memory is in them."""
    gc.set_threshold(200_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def children_obey_signals() -> Iterator[None]:
    """A program that a test starts does not inherit what this run ignores."""
    with default_signals_in_children():
        yield


@pytest.fixture(scope="session")
def private_url() -> Iterator[str]:
    """The private server that all tests of this process share; its URL."""
    with private_server() as url:
        yield url


@pytest.fixture(scope="session")
def private_template(private_url: str) -> str:
    """The URL of that server, with a template database that is up to date."""
    administer(private_url, "CREATE DATABASE {}", TEMPLATE)
    asyncio.run(migrate(in_database(private_url, TEMPLATE)))
    return private_url
