"""A few hundred steps of random play on the real engine; `make torture` takes thousands."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.store.servers import private_server
from tests.torture.random_play import Figures, RandomPlay

IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
RUNS, STEPS = (120, 50) if IS_WHOLE else (12, 25)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only an instant for a store that is away."""
    monkeypatch.setattr("core.engine.writing.FIRST_WAIT", 0.005)
    monkeypatch.setattr("core.engine.writing.LONGEST_WAIT", 0.02)


@pytest.fixture
def played() -> Iterator[type[RandomPlay]]:
    with private_server() as url:
        RandomPlay.url = url
        yield RandomPlay


def test_whatever_the_gm_the_models_and_the_machine_do_the_rules_hold_and_no_word_is_lost(
    played: type[RandomPlay],
) -> None:
    profile = settings(
        max_examples=RUNS,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # making a failure smaller takes a hundred times what finding it takes
        derandomize=not IS_WHOLE,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(played, settings=profile)
    print({name: count for name, count in vars(Figures).items() if isinstance(count, int)})
    assert Figures.steps >= RUNS * STEPS // 2
