"""Finds the words of an event that prove an item (design 15). Without a proof nothing is stored as fact."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from core.domain.ids import LogPlace
from core.text.graphemes import Span, composed_with_places
from core.text.letters import LETTER
from core.text.prose import QUOTE_MARKS

LONGEST_WORDS: Final = 500
"""Characters of the quoted words."""
FEWEST_LETTERS: Final = 3
"""Letters or digits that quoted words have at least: less would be found anywhere. A character of Chinese,
Japanese or Korean tells as much as two."""
_ENDS: Final = " .,;:…。、，；：।؛،۔"
DASHES: Final = "‐‑‒–—―−"
_OF_WORDS: Final = re.compile(LETTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Words in one event, with their place in its text: characters `start` up to, but without, `end`."""

    prompt_index: int
    take: int = 1
    ordinal: int
    words: str
    start: int
    end: int

    @property
    def place(self) -> LogPlace:
        """The sort key: its place in the log."""
        return self.prompt_index, self.take, self.ordinal

    def overlaps(self, other: "Evidence") -> bool:
        """Whether both quote a word of one event."""
        return self.place == other.place and self.start < other.end and other.start < self.end


def find_words(text: str, words: str) -> tuple[int, int] | None:
    """Return start and end of `words` in `text`; None if they are not there, or are too few.

    White space and quotation marks do not count, nor do marks that end a sentence after the last word, nor
    which dash it is, nor whether a letter and its accent are one character or two. Case counts: a model that
    quotes copies it.
    """
    wanted, _ = _bare(words)
    wanted = wanted.strip(_ENDS)
    if len(wanted) > LONGEST_WORDS or sum(map(_letters_of, wanted)) < FEWEST_LETTERS:
        return None
    bare, places = _bare(text)
    start = -1
    while (start := bare.find(wanted, start + 1)) >= 0:
        end = start + len(wanted)
        if not (_is_within_word(bare, start) or _is_within_word(bare, end)):
            return places[start][0], places[end - 1][1]
    return None


def _letters_of(character: str) -> int:
    return character.isalnum() * (2 if unicodedata.east_asian_width(character) == "W" else 1)


def _is_within_word(text: str, place: int) -> bool:
    """Whether a word goes on across a place: words are found whole, “art” does not prove what “heart” says.

    In a script without spaces every place is between words; an accent belongs to the letter before it.
    """
    if not 0 < place < len(text):
        return False
    if unicodedata.category(text[place])[0] == "M":
        return True
    return all(_OF_WORDS.match(one) for one in text[place - 1 : place + 1])


def _bare(text: str) -> tuple[str, list[Span]]:
    """Return `text` composed (NFC), with single spaces and without quotation marks.

    With it where each character came from: its start and its end.
    """
    composed, sources = composed_with_places(text)
    kept: list[str] = []
    places: list[Span] = []
    for place, character in enumerate(composed):
        if character in QUOTE_MARKS:
            # An apostrophe within a word is part of it, in one form.
            before = kept[-1] if places and places[-1][1] == sources[place][0] else " "
            if not (before.isalnum() and place < len(composed) - 1 and composed[place + 1].isalnum()):
                continue
            character = "'"
        elif character.isspace():
            if not kept or kept[-1] == " ":
                continue
            character = " "
        kept.append("-" if character in DASHES else character)
        places.append(sources[place])
    return "".join(kept), places
