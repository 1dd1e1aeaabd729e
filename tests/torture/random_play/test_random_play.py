"""A few hundred steps of random play on the real engine; `make torture` takes thousands."""

import json
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.store.servers import cloned
from tests.torture.random_play.random_play import RandomPlay
from tests.torture.random_play.random_windows import Figures

RUNS = int(os.environ.get("STORYENGINE_RANDOM_RUNS", "0"))
"""How many runs of fifty steps `make torture` wants; it gives a seed by `--hypothesis-seed`."""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only an instant for a store that is away."""
    monkeypatch.setattr("core.engine.sync.session_writer.FIRST_BACKOFF_SECONDS", 0.005)
    monkeypatch.setattr("core.engine.sync.session_writer.MAX_BACKOFF_SECONDS", 0.02)


@pytest.fixture
def played(private_template: str) -> Iterator[type[RandomPlay]]:
    for url in cloned(private_template):
        RandomPlay.url = url
        yield RandomPlay


def test_whatever_the_gm_the_models_and_the_machine_do_the_rules_hold_and_no_word_is_lost(
    played: type[RandomPlay],
) -> None:
    profile = settings(
        max_examples=RUNS or 8,
        stateful_step_count=50 if RUNS else 25,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # making a failure smaller takes a hundred times what finding it takes
        derandomize=not RUNS,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(played, settings=profile)
    print("figures", json.dumps({name: n for name, n in vars(Figures).items() if isinstance(n, int)}))
    assert Figures.steps >= 20 * (RUNS or 8) / 2
    assert (Figures.lost, Figures.twice) == (0, 0)
    assert Figures.confirmed > 0
