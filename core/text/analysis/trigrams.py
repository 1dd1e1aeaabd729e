"""Measures the similarity of words by their trigrams, to find names in other spellings.

It is the measure of PostgreSQL's pg_trgm, so that a search here and one there would agree.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from core.text.graphemes import composed

ALIKE: Final = 0.4
"""Names that are as alike as this are taken for one: `Karra` and `Kara` have 0.57, `Kara` and `Mara` 0.25."""
FEWEST_LETTERS: Final = 4
"""A shorter word is like too many others."""


def likeness(one: str, other: str) -> float:
    """Return the share of the trigrams that two words have in common, 0 to 1, in any case."""
    mine, others = _trigrams(one), _trigrams(other)
    return len(mine & others) / len(mine | others) if mine and others else 0.0


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like a word; None where none is like it."""
    if len(word) < FEWEST_LETTERS:
        return None
    best, name = max(((likeness(word, name), name) for name in names), default=(0.0, ""))
    return name if best >= ALIKE else None


@lru_cache(4096)
def _trigrams(word: str) -> frozenset[str]:
    """Return the runs of three letters, with two blanks before the word and one after it.

    They are kept for some time: each misspelled word is compared with the same names.
    """
    if not word:
        return frozenset()
    padded = f"  {composed(word).casefold()} "
    return frozenset(padded[place : place + 3] for place in range(len(padded) - 2))
