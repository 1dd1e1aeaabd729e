"""Whether a text only says again what another one has said.

Two texts are compared by their pairs of neighbouring words, without regard to case, punctuation and markup.
A text repeats a source where at least `REPEATED_SHARE` of its pairs are pairs of the source. So a copy with a
word changed here and there is found, also one out of the middle of a longer source; and a text that quotes a
few words, or shares a turn of phrase, is not. In a script without spaces each character is a word.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

LEAST_WORDS: Final = 6
"""A shorter text repeats nothing: to say "Yes." or "I do not know." again is no fault."""
REPEATED_SHARE: Final = 0.7
"""The least share of its word pairs by which a text repeats a source. One word changed in a sentence of ten
leaves 7 of 9 pairs. Replies that a good model writes share a fifth of their pairs with the longest prompt."""

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+(?:['’](?:(?![{_UNSPACED}])[^\W_])+)*")

Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Source:
    """A text that may be repeated; `what` names it for the GM, such as "the reply to prompt 3"."""

    what: str
    text: str


def words_of(text: str) -> list[str]:
    """Return the words of `text` in their order, each in the form in which it is compared."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))


def pairs_of(text: str) -> Pairs:
    """Return the pairs of neighbouring words of `text`, each once."""
    return frozenset(pairwise(words_of(text)))


def repeats(text: str, source: str) -> bool:
    """Whether `text` says nothing but what stands in `source`, as the module defines it."""
    return len(words_of(text)) >= LEAST_WORDS and _share(pairs_of(text), source) >= REPEATED_SHARE


def first_repeated(text: str, sources: tuple[Source, ...]) -> Source | None:
    """Return the first of `sources` that `text` repeats, or None."""
    if len(words_of(text)) < LEAST_WORDS:
        return None
    pairs = pairs_of(text)
    return next((source for source in sources if _share(pairs, source.text) >= REPEATED_SHARE), None)


def _share(pairs: Pairs, source: str) -> float:
    return len(pairs & pairs_of(source)) / len(pairs)
