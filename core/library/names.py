"""Names in the library, and how what someone typed finds one: without regard to case and spaces."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar
from uuid import UUID

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.session.limits import LONGEST_NAME
from core.text.cleaning import clean_line
from core.text.graphemes import head
from core.text.name_list import name_key

_SHORTEST_ID: Final = 8
"""Characters of an id that are taken for one."""


class Named(Protocol):
    """A record of the library."""

    @property
    def id(self) -> UUID:
        """Its id."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which it is found, its own first."""


Kept = TypeVar("Kept", bound=Named)


def already_here(name: str) -> str:
    """Return the answer to the import of a known file, by the name that it has in the library."""
    return f"It is in the library already, as “{name}”."


def keys_of(kept: Iterable[Named]) -> frozenset[str]:
    """Return the keys of all names of these: those that `free_name` keeps clear of."""
    return frozenset(name_key(name) for one in kept for name in one.names)


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return `wanted`, or with a number behind it where a key in `taken` is the same."""
    keys = set(taken)
    base = head(clean_line(wanted), LONGEST_NAME).strip()
    name, number = base, 1
    while name_key(name) in keys:
        number += 1
        name = f"{head(base, LONGEST_NAME - len(f' ({number})')).strip()} ({number})"
    return name


def find(wanted: str, kept: Sequence[Kept], *, what: str, group: str, is_archived: bool) -> Kept:
    """Return what a name, another name or the beginning of an id means.

    Raises StoryEngineError when nothing or more than one thing does. `what` is for its sentence, `group` the
    commands of the kind, for its hint, which has the ids of several: a list at a terminal does not.
    """
    key = name_key(wanted)
    found = [one for one in kept if key in map(name_key, one.names)]
    if not found and len(key) >= _SHORTEST_ID:
        found = [one for one in kept if str(one.id).startswith(key)]
    if len(found) == 1:
        return found[0]
    reason = f"more than one {what} is called" if found else f"there is no {what} called"
    hint = f"List them with `storyengine {group} list{' --archived' if is_archived else ''}`."
    if found:
        ids = ", ".join(sorted(str(one.id) for one in found))
        hint = f"Give its id in place of the name; the oldest is first: {ids}."
    raise StoryEngineError(
        ErrorCode.ILLEGAL_COMMAND, f"Nothing was done: {reason} “{clean_line(wanted)}”.", hint
    )
