"""What a memory bank keeps reaches only who may know it: each of its gates, when it is broken, is noticed."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from core.agents.bank.findings import Source
from core.domain.audience import EVERYONE
from core.domain.bank.recall import Scope
from core.domain.slot import Slot
from tests.leaks.many_chapters import STEPS
from tests.leaks.random_chapter import RandomChapter

pytestmark = pytest.mark.anyio
TRIES = 120
"""Chapters in which a gate that is broken must be noticed; about half of them keep a bank."""
TELLING = (7, 55)
"""Chapters in which all of the broken gates are noticed, which are played first."""

Broken = tuple[str, Callable[..., Any]]


def _whole(bank: Any, _: Slot) -> Any:
    return bank


def _of_all(**values: Any) -> Scope:
    return Scope(**{**values, "mask": 0})


def _everyones(**values: Any) -> Source:
    return replace(Source(**values), label=EVERYONE)


def _everyone_knows(*_: object) -> Any:
    return EVERYONE


def _by_place(there: Any, here: Any) -> dict[Slot, Slot]:
    return {one.slot: one.slot for one in here}


def _anywhere(text: str, _: str) -> tuple[int, int]:
    return 0, len(text)


RECALL: Broken = ("core.engine.recall.asking.Scope", _of_all)
GATE: Broken = ("core.context.visibility._bank", _whole)
BROKEN: dict[str, tuple[Broken, ...]] = {
    "items are recalled whatever their label is, and pass": (RECALL, GATE),
    "items are labelled as everyone's": (("core.engine.kinds.bank.extraction.Source", _everyones),),
    "sheets and names pass whatever their label is": (
        ("core.context.bank.BankChapter.label_of", _everyone_knows),
    ),
    "who plays in a place has what the one before knew": (
        ("core.engine.recall.reading.same_characters", _by_place),
    ),
    "other names are told that no one heard": (("core.engine.kinds.bank.extraction.find_words", _anywhere),),
}


async def leaks_in(tries: Iterable[int]) -> list[str]:
    """Return the leaks of the first chapter with a bank that has any."""
    for seed in tries:
        chapter = RandomChapter(seed)
        if chapter.keeps_bank and (found := (await chapter.play(STEPS, until_leak=True)).leaks):
            return found
    return []


@pytest.mark.parametrize("name", BROKEN)
async def test_a_gate_of_the_bank_that_is_broken_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, broken in BROKEN[name]:
        monkeypatch.setattr(where, broken)
    assert await leaks_in([*TELLING, *range(TRIES)]), f"{TRIES} chapters in which {name} had no leak"


@pytest.mark.parametrize("broken", [RECALL, GATE])
async def test_of_the_two_gates_before_an_item_that_is_recalled_each_one_is_enough(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*broken)
    assert await leaks_in(range(3)) == []
