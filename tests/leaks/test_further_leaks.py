"""Canon reaches only its witnesses also by meaning, condensed memory, timers, blocks and partial replies."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.domain.audience import EVERYONE
from core.domain.session.prompt_block import PromptBlock
from core.domain.story.condensed import CondensedMemory
from tests.leaks.further_chapter import FurtherChapter
from tests.leaks.many_chapters import STEPS

pytestmark = pytest.mark.anyio
CHAPTERS = range(8)
TRIES = 60


@pytest.fixture(autouse=True)
def condensed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short chapters have less memory than is condensed usually."""
    monkeypatch.setattr("core.engine.session.condenser.MOST", 2)


async def test_no_input_has_by_further_ways_what_its_reader_may_not_know() -> None:
    played = [FurtherChapter(seed) for seed in CHAPTERS]
    found = [await chapter.play(STEPS) for chapter in played]
    assert [one.leaks for one in found if one.leaks] == []
    assert [one.forgotten for one in found if one.forgotten] == []
    assert sum(chapter.partials for chapter in played) > 2
    assert sum(chapter.model.condensed for chapter in played) > 2
    assert sum(one.set_off_count for one in found) > 2 * len(CHAPTERS)
    assert sum(one.bank_count for one in found) > 2 * len(CHAPTERS)


def _for_all(block: PromptBlock, variant: str, role: Any, slot: Any, real: Any = PromptBlock.applies) -> Any:
    return real(replace(block, slots=()), variant, role, slot)


def _timers_of_all(lore: Any, audience: Any) -> Any:
    books = tuple((about, book) for about, book in lore.books if about.label.includes(audience))
    return replace(lore, books=books)


def _public(**values: Any) -> CondensedMemory:
    return CondensedMemory(**{**values, "audience": EVERYONE})


BROKEN: dict[str, tuple[int, str, Callable[..., Any]]] = {
    "prompt blocks of some are given to all": (
        0,
        "core.domain.session.prompt_block.PromptBlock.applies",
        _for_all,
    ),
    "timers of lore run for all once one set them off": (15, "core.context.visibility._lore", _timers_of_all),
    "condensed memory is labelled as everyone's": (
        22,
        "core.engine.kinds.memory.condense.CondensedMemory",
        _public,
    ),
}
"""For each gate a chapter in which it is noticed that it is broken: its seed, then the gate, and how."""


@pytest.mark.parametrize("name", BROKEN)
async def test_a_further_gate_that_is_broken_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, where, broken = BROKEN[name]
    monkeypatch.setattr(where, broken)
    for seed in dict.fromkeys([first, *range(TRIES)]):
        if (await FurtherChapter(seed).play(STEPS, until_leak=True)).leaks:
            return
    pytest.fail(f"{TRIES} chapters in which {name} had no leak")
