"""Several names on one line that a GM types, separated by semicolons."""

from collections.abc import Iterable, Iterator
from typing import Final

from core.text.cleaning import clean_line

BETWEEN: Final = ";"
_KEPT: Final = "\0"


def shown_names(names: Iterable[str]) -> str:
    """Return the line that shows names."""
    return f"{BETWEEN} ".join(names)


def typed_names(line: str, before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names on a line that showed `before`; one of these that has a semicolon in it stays one."""
    if line == shown_names(before):
        return before
    for name in sorted(before, key=len, reverse=True):
        line = line.replace(name, name.replace(BETWEEN, _KEPT))
    return tuple(filter(None, (clean_line(name.replace(_KEPT, BETWEEN)) for name in line.split(BETWEEN))))


def problems_of_groups(names: Iterable[str], before: Iterable[str]) -> Iterator[str]:
    """Yield, in sentences, what no group may be called; those that were stored `before` are let be."""
    for name in dict.fromkeys(names):
        if (BETWEEN in name or "," in name) and name not in before:
            yield f"The name of a group has no semicolon, which separates groups, and no comma: “{name}”."
