"""The words of a search, and where a text has them (design 15)."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from core.text.graphemes import Span, composed, composed_with_places, is_composed
from core.text.letters import LETTER, WORD_BEGINS

MARKS: Final = ".,;:!?…'‘’\"“”„«»()[]。、，！？「」『』"
"""Marks before and behind words that are no part of them."""
_DOTLESS: Final = "\u0131"
_DOTTED: Final = "\u0130"
"""The Turkish letters that `re` takes for an “i” where case does not count."""


class Matcher:
    """Finds the words of a search in texts that have all of them, each at the beginning of a word.

    Whether a letter and its accent are one character or two does not count.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self._letters = [letters_of(word) for word in words]
        self._words = [re.compile(re.escape(word), re.IGNORECASE) for word in words]

    def may_match(self, letters: str) -> bool:
        """Whether a text with these letters can have the words: a look that takes far less time."""
        return all(word in letters for word in self._letters)

    def __call__(self, searched: str) -> Span | None:
        """Return where the first word begins and ends in a text that has all; None where it has not."""
        if is_composed(searched):
            return self._first(searched)
        joined, sources = composed_with_places(searched)
        place = self._first(joined)
        return place and (sources[place[0]][0], sources[place[1] - 1][1])

    def _first(self, searched: str) -> Span | None:
        places = []
        for word in self._words:
            place = _word_in(searched, word)
            if place is None:
                return None
            places.append(place)
        return min(places)


def _word_in(searched: str, begins: re.Pattern[str]) -> Span | None:
    """Return the first word of a text that begins so."""
    beginning, rest = _edges()
    found = begins.search(searched)
    while found is not None:
        if beginning.match(searched, found.start()):
            after = rest.match(searched, found.end())
            return found.start(), after.end() if after else found.end()
        found = begins.search(searched, found.start() + 1)
    return None


@cache
def _edges() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the beginning of a word and the rest of one: made once, as they take longer than a search."""
    return re.compile(WORD_BEGINS), re.compile(f"(?:{LETTER})*")


def matcher_of(text: str) -> Matcher | None:
    """Return what finds the words of a search; None where it has none.

    Marks around a word do not count: a phrase is often typed in quotation marks, or copied with its stop.
    """
    words = [word.strip(MARKS) or word for word in composed(text).split()]
    return Matcher(words) if words else None


def letters_of(text: str) -> str:
    """Return a text such that what `re` finds in it in any case is part of it, letter by letter."""
    if text.isascii():
        return text.lower()
    joined = text if is_composed(text) else composed_with_places(text)[0]
    return joined.replace(_DOTLESS, "i").replace(_DOTTED, "i").casefold()
