"""Names that a GM types: how two spellings of one are known, and several on one line, with semicolons."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from core.text.cleaning import clean_line
from core.text.graphemes import composed

BETWEEN: Final = ";"
_KEPT: Final = str.maketrans(";；؛", "\0\1\2")
_RESTORED: Final = str.maketrans("\0\1\2", ";；؛")
"""The semicolons of all scripts, in a name that stays one."""


@lru_cache(maxsize=4_096)
def name_key(name: str) -> str:
    """Return what two spellings of the same name have in common."""
    # A composed letter may not be one in another case: “ΐ” has three signs there.
    return composed(composed(clean_line(name)).casefold())


def shown_names(names: Iterable[str]) -> str:
    """Return the line that shows names."""
    return f"{BETWEEN} ".join(names)


def typed_names(line: str, before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names on a line that showed `before`; one of these that has a semicolon in it stays one."""
    if line == shown_names(before):
        return before
    for name in sorted(before, key=len, reverse=True):
        line = line.replace(name, name.translate(_KEPT))
    typed = re.split("[;；؛]", line)
    return tuple(filter(None, (clean_line(name.translate(_RESTORED)) for name in typed)))


def problems_of_groups(names: Iterable[str], before: Iterable[str]) -> Iterator[str]:
    """Yield, in sentences, what no group may be called; those that were stored `before` are let be."""
    for name in dict.fromkeys(names):
        if (BETWEEN in name or "," in name) and name not in before:
            yield f"The name of a group has no semicolon, which separates groups, and no comma: “{name}”."
