"""Items of the memory bank: how they fade, and what keeps one from being stored."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.bank.checks import problems_of_item
from core.domain.bank.details import DETAILS_OF, EventDetails, ItemKind, MemoryType, TraitDetails
from core.domain.bank.item import Item, Validation, has_expired, strength_of
from tests.core.values.bank import fact

PROMPTS = st.integers(0, 10_000)


def test_an_item_that_is_not_used_fades_and_one_that_is_recalled_starts_over() -> None:
    item = replace(fact(prompt_index=10), importance=0.8, decay_rate=0.002)
    assert strength_of(item, 10) == 0.8
    assert 0.39 < strength_of(item, 357) < 0.41
    assert strength_of(item, 357, last_accessed=357) == 0.8


def test_by_hours_an_item_fades_while_nobody_plays_and_a_recall_counts_by_its_share_of_the_play() -> None:
    item = replace(fact(prompt_index=10), importance=0.8, decay_rate=0.002)
    later = item.created_at + timedelta(hours=347)
    assert strength_of(item, 10, at=item.created_at) == 0.8
    assert 0.39 < strength_of(item, 10, at=later) < 0.41, "no prompt was played since"
    assert strength_of(item, 10_000, at=item.created_at) == 0.8, "prompts do not count"
    half = strength_of(item, 110, last_accessed=60, at=later)
    assert half == pytest.approx(strength_of(item, 10, at=item.created_at + timedelta(hours=173.5)))
    assert strength_of(item, 110, last_accessed=110, at=later) == 0.8
    assert strength_of(item, 10, at=item.created_at - timedelta(hours=5)) == 0.8, "a clock may be set back"


@given(PROMPTS, PROMPTS)
def test_pinned_and_confirmed_items_never_fade_and_never_expire(at: int, last: int) -> None:
    item = replace(fact(), expires_at=0)
    for kept in (replace(item, is_pinned=True), replace(item, validation=Validation.CONFIRMED)):
        assert strength_of(kept, at, last) == kept.importance
        assert not has_expired(kept, at)
    assert has_expired(item, at) == (at > 0)


def test_each_kind_has_its_details_and_its_type_of_memory() -> None:
    assert DETAILS_OF.keys() == {*ItemKind}
    assert all(details().kind is kind for kind, details in DETAILS_OF.items())
    assert {kind for kind in ItemKind if kind.memory is MemoryType.EPISODIC} == {ItemKind.EVENT}
    assert {kind for kind in ItemKind if kind.memory is MemoryType.PROCEDURAL} == {ItemKind.TRAIT}


@pytest.mark.parametrize(
    "change",
    [
        {"name": " "},
        {"name": "x" * 201},
        {"name": "\u200b"},
        {"text": ""},
        {"text": " \u200b\u2060"},
        {"text": "x" * 2_001},
        {"importance": 1.1},
        {"importance": float("nan")},
        {"sentiment": -2.0},
        {"details": TraitDetails(strength=2.0)},
        {"details": EventDetails(participants=("x" * 501,))},
        {"details": EventDetails(participants=("x",) * 17)},
        {"evidence": fact().evidence * 9},
        {"prompt_index": 1},
        {"take": 0},
        {"version": 0},
        {"expires_at": -1},
        {"supersedes": fact().id},
    ],
)
def test_what_is_out_of_bounds_is_not_stored(change: dict[str, object]) -> None:
    assert not list(problems_of_item(fact()))
    assert list(problems_of_item(replace(fact(), **change)))  # type: ignore[arg-type]


def test_a_change_makes_the_next_version() -> None:
    item: Item = fact()
    assert item.next_version(item.updated_at).version == 2
