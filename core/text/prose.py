"""Words, sentences and quotation marks of prose in any language."""

import re
from typing import Final

from core.text.letters import STOPS, UNSPACED, WORD

_UNSPACED = re.compile(UNSPACED)
_WORD = re.compile(WORD)


def word_count(text: str) -> int:
    """Return the number of words, separated by white space; in scripts without spaces those of `WORD`."""
    if text.isascii():
        return len(text.split())
    return sum(len(_WORD.findall(part)) if _UNSPACED.search(part) else 1 for part in text.split())


_SENTENCE_END = re.compile(rf"[{STOPS}][\"'”’»)\]]*(?=\s|\Z)|[。！？][\"'”’»)\]」』）]*")


def to_last_sentence(text: str) -> str:
    """Return `text` up to the end of its last complete sentence, or all of it without one."""
    ends = list(_SENTENCE_END.finditer(text))
    return text[: ends[-1].end()] if ends else text


def cut_in_words(place: str, whole: str, kept: str) -> tuple[str, ...]:
    """Describe for the GM what was cut off the end of an output; empty for white space."""
    cut = whole[len(kept) :].strip()
    return (f"The end of the output {place} ({len(cut):,} characters)",) if cut else ()


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
