"""What both statements of recall found: the same whichever of them comes back first."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from core.domain.bank.item import Item, ItemAccess, Validation
from core.domain.bank.recall import Candidate, QueryWord
from db.bank.recall import RecallResult
from tests.core.values.bank import fact

WORDS = (QueryWord("brass"), QueryWord("key"))


def row(item: Item, *, score: float | None = None, bits: int | None = None, **more: Any) -> tuple[Any, ...]:
    known = {"distance": None, "farness": None, "is_state": False, "last": None, "count": None, **more}
    return item.id.bytes, item.version, b"", score, bits, *known.values()


def gathered(*parts: tuple[tuple[Any, ...], Item | None]) -> Sequence[Candidate]:
    result = RecallResult()
    for found, item in parts:
        result.add([found], [item], WORDS)
    return result.candidates


def test_an_item_that_both_found_has_what_each_knows_of_it() -> None:
    by_meaning = row(fact(1), distance=0.25, farness=0.5), fact(1)
    by_words = row(fact(1), score=2.0, bits=0b10, last=7, count=3), fact(1)
    access = ItemAccess(item_id=fact(1).id, access_count=3, last_accessed=7)
    for order in permutations([by_meaning, by_words]):
        assert gathered(*order) == [Candidate(fact(1), 2.0, ("key",), 0.75, -0.5, access)]


def test_of_two_versions_the_one_that_the_gm_changed_last_counts() -> None:
    later = fact(1).updated_at + timedelta(seconds=1)
    pinned = replace(fact(1).next_version(later), is_pinned=True)
    parts = (row(fact(1), distance=0.25), fact(1)), (row(pinned, score=2.0), pinned)
    for order in permutations(parts):
        [found] = gathered(*order)
        assert found.item is pinned
        assert (found.score, found.similarity) == (2.0, 0.75)


@pytest.mark.parametrize("is_deleted", [False, True], ids=["rejected", "deleted"])
def test_an_item_that_was_taken_out_since_it_was_found_is_left_out(is_deleted: bool) -> None:
    now = fact(1).updated_at
    rejected = replace(fact(1).next_version(now), validation=Validation.REJECTED)
    assert not gathered((row(fact(1), score=2.0), None if is_deleted else rejected))
