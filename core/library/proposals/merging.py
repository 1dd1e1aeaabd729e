"""Traits and topics of one character that say the same, and one in their place (design 17).

Two are the same where their names have the same words, in any order, or where their texts are similar: names
and texts together, of at least twenty letters, are cut into runs of three letters, and twice the runs that
both have, over the runs of both, is at least 0.85. Neither needs a model; it finds the same words, not the
same meaning.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import combinations
from typing import Any, Final, TypeVar

from core.library.characters.character import Topic, Trait
from core.library.characters.checks import LONGEST_TEXT
from core.text.analysis.repetition import words_of

SAME_FROM: Final = 0.85
_RUN: Final = 3
_LEAST: Final = 20
"""Letters of a text whose runs say something; a shorter one is compared by its name alone."""
_TEXTS: Final = ("description", "perspective", "approach", "personal_stake")
_HIGHEST: Final = ("strength", "exposure_now", "exposure_desired")
Item = TypeVar("Item", Trait, Topic)


def similarity(one: Trait | Topic, other: Trait | Topic) -> float:
    """Return how similar two traits or two topics are, from 0 to 1."""
    names = set(words_of(one.name)), set(words_of(other.name))
    if names[0] and names[0] == names[1]:
        return 1.0
    runs, others = _runs(one), _runs(other)
    return 2 * len(runs & others) / (len(runs) + len(others)) if runs and others else 0.0


def duplicates(items: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    """Yield the pairs that say the same, each item in one pair at most and in the order of the list."""
    gone: set[str] = set()
    for one, other in combinations(items, 2):
        if not {one.name, other.name} & gone and similarity(one, other) >= SAME_FROM:
            gone |= {one.name, other.name}
            yield one, other


def merged(one: Item, other: Item) -> Item | None:
    """Return what takes the place of two: the first name, every text once, the mean of how it feels.

    Of strength and exposure the higher counts. None where a text would be too long.
    """
    values: dict[str, Any] = {"sentiment": round((one.sentiment + other.sentiment) / 2, 2)}
    for name in (field.name for field in fields(one)):
        first, second = getattr(one, name), getattr(other, name)
        if name in _TEXTS:
            values[name] = _joined(first, second)
            if len(values[name]) > LONGEST_TEXT:
                return None
        elif name in _HIGHEST:
            values[name] = max(first, second)
    return replace(one, **values)


def _joined(first: str, second: str) -> str:
    if second.strip() in first:
        return first
    return second if first.strip() in second else f"{first}\n{second}"


def _runs(item: Trait | Topic) -> set[str]:
    text = " ".join(words_of(" ".join([item.name, *(getattr(item, name, "") for name in _TEXTS)])))
    runs = range(len(text) - _RUN + 1) if len(text) >= _LEAST else ()
    return {text[start : start + _RUN] for start in runs}
