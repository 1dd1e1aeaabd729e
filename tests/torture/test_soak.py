"""A short soak; `make torture` plays five thousand prompts."""

import asyncio

import pytest

from tests.e2e.program import warm_machine
from tests.torture.soak import soak


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only an instant for a store that is away."""
    monkeypatch.setattr("core.engine.sync.session_writer.FIRST_BACKOFF_SECONDS", 0.002)
    monkeypatch.setattr("core.engine.sync.session_writer.MAX_BACKOFF_SECONDS", 0.01)


def test_a_play_in_which_one_call_and_one_commit_in_twenty_fail_leaves_nothing_behind() -> None:
    with warm_machine() as (_, url):
        figures = asyncio.run(soak(url, 150, 1))
    print(figures)
    assert figures.model_faults > 0
    assert figures.store_faults > 0
    figures.check()
