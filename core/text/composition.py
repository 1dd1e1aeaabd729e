"""Composes letters and their accents to one character each (NFC), and keeps where each came from."""

import unicodedata
from typing import Final

_FIRST_ACCENT: Final = "\u0300"
"""The first character that may be an accent of the letter before it."""

Span = tuple[int, int]


def composed(text: str) -> str:
    """Return a text with each letter and its accents as one character, where Unicode has one for them."""
    return unicodedata.normalize("NFC", text)


def is_composed(text: str) -> bool:
    """Whether `composed` would return the text as it is."""
    return unicodedata.is_normalized("NFC", text)


def composed_with_places(text: str) -> tuple[str, list[Span]]:
    """Return a text as `composed` does, and for each character its start and end in `text`.

    A letter that was one character and a sign alone stays as it is: composition only joins.
    """
    kept: list[str] = []
    places: list[Span] = []
    for place, character in enumerate(text):
        if character >= _FIRST_ACCENT and kept:
            joined = unicodedata.normalize("NFC", kept[-1] + character)
            if len(joined) == 1:
                kept[-1], places[-1] = joined, (places[-1][0], place + 1)
                continue
        kept.append(character)
        places.append((place, place + 1))
    return "".join(kept), places
