"""What the whole run shares."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.signals import default_signals_in_children
from tests.store.made_data import share
from tests.store.servers import TEMPLATE, administer, database_of, private_server

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
    if "PYTEST_XDIST_WORKER" not in os.environ:
        share()


@pytest.fixture(scope="session", autouse=True)
def children_obey_signals() -> Iterator[None]:
    """A program that a test starts does not inherit what this run ignores."""
    with default_signals_in_children():
        yield


@pytest.fixture(scope="session", autouse=True)
def one_thread_per_model() -> Iterator[None]:
    """The bundled models work alone: threads of theirs that wait for each other take processor time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.providers.local.server._MOST_THREADS", 1)
        yield


@pytest.fixture(scope="session")
def private_url() -> Iterator[str]:
    """The private server that all tests of this process share; its URL."""
    with private_server() as url:
        yield url


@pytest.fixture(scope="session")
def private_template(private_url: str) -> str:
    """The URL of that server, with a template database that is up to date."""
    made = database_of(private_url)
    administer(private_url, "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", TEMPLATE, made)
    return private_url
