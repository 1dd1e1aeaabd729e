"""Detects texts that only repeat another text.

Texts are compared by their pairs of neighbouring words, ignoring case, punctuation and markup. A text repeats
a source if at least `REPEATED_PAIRS` of its pairs occur in the source. This detects copies with a few changed
words, also of a part of a longer source, but not short quotes or common phrases. In a script without spaces
each character is a word; where these are letters, such as in Thai, each run of four is one.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from core.text.letters import LETTER, SPELLED, UNSPACED

LEAST_WORDS: Final = 6
"""A shorter text, such as "Yes." or "I do not know.", never counts as a repetition."""
REPEATED_PAIRS: Final = 0.6
"""The least share of its word pairs by which a text repeats a source. Replies of the bundled model that say
the same have 0.5 to 1 of the other's; varied prose has at most 0.12, of a reply or of a prompt."""
SHORT: Final = 12
SHORT_SHARE: Final = 0.75
"""The share for a text of fewer than `SHORT` words, of which a few turns of phrase make up much."""

_SPELLED: Final = re.compile(SPELLED)
_LETTERS_OF_TERM: Final = 4
_LETTERS: Final = rf"(?:(?!_){LETTER})+"
_WORD = re.compile(rf"{UNSPACED}|{_LETTERS}(?:['’]{_LETTERS})*")

Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A text that may be repeated; `what` names it for the GM, such as "the reply to prompt 3"."""

    what: str
    text: str


def words_of(text: str) -> list[str]:
    """Return the words of `text` in order, normalised for comparison."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))


def terms_of(text: str) -> list[str]:
    """Return the words of `text` to compare as a set: of letters without spaces each run of four.

    Single letters of Thai, as `words_of` has them, are in any text.
    """
    if _SPELLED.search(text) is None:
        return words_of(text)
    terms: list[str] = []
    for words in map(words_of, text.split()):
        for is_spelled, group in groupby(words, lambda word: _SPELLED.match(word) is not None):
            run = list(group)
            runs = range(len(run) - _LETTERS_OF_TERM + 1) if is_spelled else ()
            terms += ["".join(run[at : at + _LETTERS_OF_TERM]) for at in runs] or run
    return terms


def pairs_of(text: str) -> Pairs:
    """Return the pairs of neighbouring words of `text`, each once."""
    return frozenset(pairwise(terms_of(text)))


def first_repeated(text: str, sources: Iterable[Repeatable]) -> Repeatable | None:
    """Return the first of `sources` that most of `text` repeats, as the module defines it, or None."""
    words = len(terms_of(text))
    if words < LEAST_WORDS:
        return None
    pairs = pairs_of(text)
    least = len(pairs) * (SHORT_SHARE if words < SHORT else REPEATED_PAIRS)
    return next((source for source in sources if len(pairs & pairs_of(source.text)) >= least), None)
