"""Fixtures of the whole run."""

import gc
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sqlalchemy.ext.asyncio import create_async_engine

from tests.signals import default_signals_in_children
from tests.store.made_data import share
from tests.store.servers import TEMPLATE, administer, database_of, private_server

TESTS = Path(__file__).parent
EXAMPLES = {"run": 30, "torture": 500}
"""Examples of each property, by the profile of Hypothesis."""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Have nothing looked through any more: pytest does so five times at its end.

    After some thousand tests that takes longer than the five seconds which a worker is given; it would be
    interrupted, and say so below the closing line.
    """
    gc.freeze()


def pytest_collection_finish() -> None:
    """Have no collection look through the modules and the tests, which stay to the end of the run."""
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Collect garbage seldom, and try few examples of a property; none fails for the time that it takes.

    Every window leaves many reference cycles, and they hold little memory. A run draws the same examples as
    the one before, so that red means a change; `make torture` draws others, and many of them, by
    `--hypothesis-profile`. Hypothesis's limit of 0.2 s for one example measures the machine, not the rule.
    """
    gc.set_threshold(1_000_000, 5, 5)
    for profile, examples in EXAMPLES.items():
        is_repeated = profile == "run"
        settings.register_profile(profile, max_examples=examples, deadline=None, derandomize=is_repeated)
    settings.load_profile("run")
    # Hypothesis would read the source of the whole product for constants, in each worker: some thousand, of
    # which no test of thirty examples draws the one that matters.
    if config.getoption("hypothesis_profile", None) != "torture":
        read = "hypothesis.internal.conjecture.providers.is_local_module_file"
        pytest.MonkeyPatch().setattr(read, lambda path: False)
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        begin_elsewhere(config, int(worker.removeprefix("gw")))
    else:
        share()


def begin_elsewhere(config: pytest.Config, worker: int) -> None:
    """Start each worker at another test file, in a run of the whole suite.

    What one of them has compiled, the others read. Side by side, each would compile every file of a new
    checkout, which takes three times as long as to read it.
    """
    leaves_out = config.getoption("ignore") or config.getoption("ignore_glob")
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or leaves_out:
        return  # A file that is named is run even where its folder is to be left out.
    files = sorted(map(str, TESTS.rglob("test_*.py")))
    first = len(files) * worker // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    config.args = [*files[first:], *files[:first]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests into one order, wherever a worker began to read them."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.path)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The program runs on asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def children_obey_signals() -> Iterator[None]:
    """A program that a test starts does not inherit what this run ignores."""
    with default_signals_in_children():
        yield


class Statements(dict[Any, Any]):
    """What statements were compiled to, for all engines: each has a dialect of its own, and of one kind."""

    def get(self, key: Any, default: Any = None) -> Any:
        """Return what a statement was compiled to by any of them."""
        return super().get(key[1:], default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(key[1:], compiled)


@pytest.fixture(scope="session", autouse=True)
def statements_are_compiled_once() -> Iterator[None]:
    """A program has one engine, and tests have hundreds, each of which would compile all statements anew."""
    make = partial(create_async_engine, execution_options={"compiled_cache": Statements()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("db.connections.create_async_engine", make)
        yield


@pytest.fixture(scope="session", autouse=True)
def patience_with_the_bank() -> Iterator[None]:
    """An input waits a second for the memory bank, which on a busy machine is not always enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.engine.recall.reading.LONGEST_WAIT", 60.0)
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
