"""What it costs to build a context."""

import copy
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.agents.context_builder import ContextBuilder
from core.config.models.model_config import PromptStyle
from core.domain.agent_role import AgentRole
from core.domain.slot import Slot
from core.domain.story.event import ALWAYS, CONTEXT
from core.domain.story.memory import MemoryBlock
from tests.core.values.sessions import choices, known, memory, play, session


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
        return calls_of(lambda: build.character(known(mine, blocks, recent), "And then?"))

    assert work(1_000) - work(200) < 10 * 800


def test_an_input_that_is_asked_for_twice_in_a_row_is_built_once() -> None:
    """The worker looks whether a prompt fits before its attempt builds what is sent."""
    build, blocks, recent = ContextBuilder(choices(48_000, PromptStyle.FULL)), memory(2), play(8, 16)
    mine = session(prompts=16, boundary=14)
    first = build.character(known(mine, blocks, recent), "What now?")
    assert build.character(known(mine, blocks, list(recent)), "What now?") is first
    for changed in (
        build.character(known(mine, blocks, recent), "And then?"),
        build.character(known(mine, blocks, recent[:-1]), "What now?"),
        build.character(known(mine, blocks[:-1], recent), "What now?"),
        build.character(known(replace(mine, names={Slot.RED: "Mara"}), blocks, recent), "What now?"),
        build.character(known(mine, blocks, recent, slot=Slot.ORANGE), "What now?"),
    ):
        assert changed.messages != first.messages
    other = build.with_choice(
        AgentRole.CHARACTER, None, choices(9_000, PromptStyle.SMALL)[AgentRole.CHARACTER]
    )
    again = build.character(known(mine, blocks, recent), "What now?")
    assert again == first
    assert other.character(known(mine, blocks, recent), "What now?") != again


def test_only_the_first_input_of_a_chapter_that_is_opened_again_compares_its_memory() -> None:
    """Its blocks are equal to those of before, but other objects, each of which takes time to compare."""
    blocks, mine, recent = memory(100), session(prompts=703, boundary=700), play(694, 703)

    def work(opened_again: Sequence[MemoryBlock]) -> int:
        build = ContextBuilder(choices(48_000, PromptStyle.FULL))
        build.character(known(mine, blocks, recent), "What now?")
        build.character(known(mine, opened_again, recent), "And then?")
        return calls_of(lambda: build.character(known(mine, opened_again, recent), "And now?"))

    assert work(copy.deepcopy(blocks)) - work(blocks) < len(blocks)


def test_each_line_that_is_always_sent_costs_as_much_as_the_one_before() -> None:
    def work(marked: int) -> int:
        build, mine = ContextBuilder(choices(48_000, PromptStyle.FULL)), session(prompts=700, boundary=700)
        recent = [replace(one, metadata={CONTEXT: ALWAYS}) for one in play(1, marked // 2)]
        build.character(known(mine, memory(100), recent), "What now?")
        return calls_of(lambda: build.character(known(mine, memory(100), recent), "And then?"))

    base = work(100)
    assert work(1_000) - base < 3 * (work(500) - base)
