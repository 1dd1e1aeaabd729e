"""Splits a text into its clauses at punctuation, and into spans of a few words that overlap."""

import re
from math import ceil
from typing import Final

FEWEST_WORDS: Final = 3
"""Fewer words say too little by themselves: they belong to the clause before them."""
SPAN_WORDS: Final = 7
"""Words of a span; a long text has longer ones, which reach over all of it."""
MOST_SPANS: Final = 6
_SPAN_STEP: Final = 3
"""Most words between the beginnings of two spans, where their number allows it."""
_ENDS: Final = re.compile(r"[,;:.!?…]+[\"'”’»)]*(?=\s|$)|[、。，；：？！]|\n")
_AROUND: Final = " \t\"'“”„’»«(),;:.!?…–—-"


def clauses_of(text: str) -> tuple[str, ...]:
    """Return the clauses of a text, of at least three words each unless it has only one."""
    clauses: list[str] = []
    before = 0  # words of the last clause
    for part in filter(None, (part.strip(_AROUND) for part in _ENDS.split(text))):
        words = len(part.split())
        if clauses and min(words, before) < FEWEST_WORDS:
            clauses[-1] = f"{clauses[-1]}, {part}"
            before += words
        else:
            clauses.append(part)
            before = words
    return tuple(clauses)


def spans_of(text: str) -> tuple[str, ...]:
    """Return spans of a text that overlap, each once; the whole text where it is no longer than one.

    Neither punctuation nor a language is needed: “who hammers hot iron into tools” is mostly in one of them.
    """
    words = text.split()
    size = max(SPAN_WORDS, ceil(2 * len(words) / (MOST_SPANS + 1)))
    last = len(words) - size
    if last <= 0:
        return (text,)
    steps = min(MOST_SPANS - 1, ceil(last / _SPAN_STEP))
    starts = (round(step * last / steps) for step in range(steps + 1))
    return tuple(dict.fromkeys(" ".join(words[start : start + size]) for start in starts))
