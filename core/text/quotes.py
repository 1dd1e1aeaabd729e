"""The characters that mark quoted words, and names that have one of a pair."""

from typing import Final

QUOTE_MARKS: Final = frozenset("\"'`´‘’‚‛“”„‟«»‹›「」『』")
"""Quotation marks of any language, with apostrophes and what is typed in their place."""
_PAIRED: Final = ('"', "“”„‟", "«»", "「」", "『』")
"""Marks of one kind; each language has its own order of the two."""


def without_half_pairs(name: str) -> str:
    """Return a name on one line, without a mark whose other half it does not have; apostrophes stay."""
    for kind in _PAIRED:
        places = [place for place, char in enumerate(name) if char in kind]
        if len(places) % 2:
            half = places[0] if places[0] == 0 else places[-1]
            name = name[:half] + name[half + 1 :]
    return " ".join(name.split())  # in French there are spaces around a mark
