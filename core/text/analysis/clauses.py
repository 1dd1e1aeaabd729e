"""Splits a text into its clauses at punctuation."""

import re
from typing import Final

FEWEST_WORDS: Final = 3
"""Fewer words say too little by themselves: they belong to the clause before them."""
_ENDS: Final = re.compile(r"[,;:.!?…]+[\"'”’»)]*(?=\s|$)|[、。，；：？！]|\n")
_AROUND: Final = " \t\"'“”„’»«(),;:.!?…–—-"


def clauses_of(text: str) -> tuple[str, ...]:
    """Return the clauses of a text, of at least three words each unless it has only one."""
    clauses: list[str] = []
    for part in _ENDS.split(text):
        part = part.strip(_AROUND)
        is_short = clauses and min(len(part.split()), len(clauses[-1].split())) < FEWEST_WORDS
        if part and is_short:
            clauses[-1] = f"{clauses[-1]}, {part}"
        elif part:
            clauses.append(part)
    return tuple(clauses)
