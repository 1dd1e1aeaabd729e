"""What it costs to build a context."""

import sys
from collections.abc import Callable

from core.agents.context_builder import ContextBuilder
from core.config.models import PromptStyle
from tests.core.samples import choices, known, memory, play, session


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls: the same on every machine, however busy."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_cost_does_not_grow_with_the_story_beyond_a_sum() -> None:
    """When memory was read before, a chunk more is an addition more; nothing is read or measured again."""

    def work(deltas: int) -> int:
        build, blocks, prompts = ContextBuilder(choices(48_000, PromptStyle.FULL)), memory(deltas), deltas * 7
        mine, recent = session(prompts=prompts + 3, boundary=prompts), play(prompts - 6, prompts + 3)
        build.character(known(mine, blocks, recent), "What now?")
        return calls_of(lambda: build.character(known(mine, blocks, recent), "What now?"))

    assert work(1_000) - work(200) < 10 * 800
