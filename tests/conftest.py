"""Fixtures of the whole run."""

import asyncio
import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.signals import default_signals_in_children
from tests.store.servers import TEMPLATE, administer, in_database, migrate, private_server

EXAMPLES = {"run": 30, "torture": 500}
"""Examples of each property, by the profile of Hypothesis."""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Have nothing looked through any more: pytest does so five times at its end.

    After some thousand tests that takes longer than the five seconds which a worker is given; it would be
    interrupted, and say so below the closing line.
    """
    gc.freeze()


def pytest_configure() -> None:
    """Collect garbage seldom, and try few examples of a property; none fails for the time that it takes.

    Every window leaves many reference cycles, and they hold little memory. Other examples are drawn in
    every run; `make torture` tries many at once, by `--hypothesis-profile`. Hypothesis's limit of 0.2 s for
    one example measures the machine, not the rule.
    """
    gc.set_threshold(200_000, 20, 20)
    for profile, examples in EXAMPLES.items():
        settings.register_profile(profile, max_examples=examples, deadline=None)
    settings.load_profile("run")


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
