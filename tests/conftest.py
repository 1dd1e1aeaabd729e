"""What the whole run shares."""

import gc
from collections.abc import Iterator

import pytest

from tests.signals import default_signals_in_children


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Have nothing looked through any more: pytest does so five times at its end.

    After some thousand tests that takes longer than the five seconds which a worker is given; it would be
    interrupted, and say so below the closing line.
    """
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def children_obey_signals() -> Iterator[None]:
    """A program that a test starts does not inherit what this run ignores."""
    with default_signals_in_children():
        yield
