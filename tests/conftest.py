"""What the whole run shares."""

import gc

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Have nothing looked through any more: pytest does so five times at its end.

    After some thousand tests that takes longer than the five seconds which a worker is given; it would be
    interrupted, and say so below the closing line.
    """
    gc.freeze()
