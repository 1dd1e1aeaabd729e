"""Memory for a model that is too small to summarise: it picks from what was written.

A very small model that writes freely invents, repeats itself and copies its example. So the schemas
that it is held to offer, wherever text goes, the clauses of the source themselves: whatever it picks
is canon, word for word. Arrays are tuples whose places each draw on their own stretch of the source,
so that the whole of it is covered and nothing is picked twice. Only llama.cpp's engine is asked this.
"""

import re
from collections.abc import Sequence

from core.agents.schema import Schema
from core.grapheme import head
from core.model_choice import PromptStyle
from core.tokens import estimate_tokens

CLAUSE_LENGTH, CLAUSE_TOKENS = 120, 60
"""Characters and tokens of the longest clause: what is picked must fit the output cap in any script."""
EMPTY_LIST: Schema = {"type": "array", "const": []}
MAX_CLAUSES = 24
"""How many clauses one place offers; evenly taken from a longer source."""

# Where a clause ends: at the end of a line, or after a full stop in any of the usual scripts.
_CLAUSE_END = re.compile(r"(?<=[.!?;…])\s+|(?<=[。！？；])|\n+")


def clauses(text: str) -> list[str]:
    """Return the clauses of `text`, each once, none too long, none blank."""
    found: dict[str, None] = {}
    for sentence in _CLAUSE_END.split(text):
        rest = " ".join(sentence.split())
        while rest:
            piece = _bounded(rest)
            rest = rest[len(piece) :].strip()
            if any(char.isalnum() for char in piece):
                found[piece.strip()] = None
    return list(found)


def pick(options: Sequence[str], *, optional: bool = False) -> Schema:
    """Return the schema of one of `options`; of none of them too when `optional`, or when there are none."""
    offered = list(_spread(options, MAX_CLAUSES))
    return {"type": "string", "enum": [*offered, ""] if optional or not offered else offered}


def picks(options: Sequence[str], count: int) -> Schema:
    """Return the schema of a list of up to `count` of `options`, each from its own stretch."""
    return tuple_of([pick(stretch) for stretch in stretches(options, count)])


def pick_any(options: Sequence[str], most: int) -> Schema:
    """Return the schema of a list of none to `most` of `options`."""
    if not options:
        return EMPTY_LIST
    return {"type": "array", "items": pick(options), "minItems": 0, "maxItems": most}


def tuple_of(places: Sequence[Schema]) -> Schema:
    """Return the schema of a list with these places; of the empty list when there are none."""
    if not places:
        return EMPTY_LIST
    return {"type": "array", "prefixItems": list(places), "minItems": len(places), "maxItems": len(places)}


def stretches(options: Sequence[str], count: int) -> list[Sequence[str]]:
    """Return `options` cut into at most `count` runs of about equal length, none empty."""
    count = min(count, len(options))
    return [options[i * len(options) // count : (i + 1) * len(options) // count] for i in range(count)]


def _spread(options: Sequence[str], most: int) -> Sequence[str]:
    if len(options) <= most:
        return options
    return [options[i * len(options) // most] for i in range(most)]


def _bounded(text: str) -> str:
    """Return the beginning of `text` up to the last comma or word that fits."""
    piece = head(text, CLAUSE_LENGTH)
    while estimate_tokens(piece, PromptStyle.SMALL) > CLAUSE_TOKENS:
        piece = head(piece, len(piece) * 3 // 4)
    if len(piece) == len(text):
        return text
    for mark in (", ", " ", "、", "，"):
        at = piece.rfind(mark)
        if at >= len(piece) // 3:
            return piece[: at + len(mark)]
    return piece
