"""Decorators of version 3: lines `@@name value` at the beginning of an entry's content.

`@@@name` is another word for the decorator right above it, for programs that do not understand that one.
What is not understood is left out of the text and changes nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_LINE = re.compile(r"(@{2,3})([A-Za-z_]+)[ \t]*(.*)")
MOST_LINES: Final = 100

_NUMBERS: Final = (
    *("activate_only_after", "activate_only_every", "depth", "reverse_depth", "scan_depth", "is_greeting"),
    *("probability", "priority"),
)
_FLAGS: Final = (
    *("activate", "dont_activate", "keep_activate_after_match", "dont_activate_after_match"),
    *("ignore_on_max_context", "end", "recursive", "unrecursive", "no_recursive_search"),
    *("match_full_word", "match_partial_word"),
)
_LISTS: Final = ("additional_keys", "exclude_keys", "exclude_keys_all")
_POSITIONS: Final = ("before_desc", "after_desc", "personality", "scenario")
_ROLES: Final = ("assistant", "system", "user")


@dataclass(frozen=True, slots=True)
class Decorators:
    """The decorators of an entry that were understood, by their names; lists keep every line of one name."""

    numbers: Mapping[str, int]
    flags: frozenset[str]
    lists: Mapping[str, tuple[tuple[str, ...], ...]]
    words: Mapping[str, str]

    def keys(self, name: str) -> tuple[str, ...]:
        """Return the keys of all lines of one name."""
        return tuple(key for line in self.lists.get(name, ()) for key in line)


NO_DECORATORS: Final = Decorators({}, frozenset(), {}, {})


def strip_decorators(content: str) -> str:
    """Return the content without its decorators and the line ends around them."""
    return split_decorators(content)[1]


def split_decorators(content: str) -> tuple[Decorators, str]:
    """Return the decorators and the text of an entry's content."""
    if not content.lstrip().startswith("@@"):
        return NO_DECORATORS, content
    lines = content.lstrip().split("\n")
    reading = _Reading()
    count = 0
    for line in lines[:MOST_LINES]:
        found = _LINE.match(line.rstrip("\r").strip())
        if found is None:
            break
        count += 1
        reading.read(*found.groups())
    if not count:
        return NO_DECORATORS, content
    return reading.result(), "\n".join(lines[count:]).strip("\r\n")


class _Reading:
    """Reads decorators in their order; remembers whether the last one was understood."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._flags: set[str] = set()
        self._lists: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._words: dict[str, str] = {}
        self._was_understood = True

    def read(self, marks: str, name: str, value: str) -> None:
        """Take one line; a fallback counts only after a decorator that was not understood."""
        if marks == "@@@" and self._was_understood:
            return
        self._was_understood = self._take(name.lower(), value.strip())

    def result(self) -> Decorators:
        return Decorators(self._numbers, frozenset(self._flags), self._lists, self._words)

    def _take(self, name: str, value: str) -> bool:
        if name in _FLAGS:
            self._flags.add(name)
            return True
        if name in _NUMBERS:
            return self._take_number(name, value)
        if name in _LISTS:
            keys = tuple(key.strip() for key in value.split(",") if key.strip())
            self._lists[name] = (*self._lists.get(name, ()), keys)
            return bool(keys)
        allowed: Callable[[str], bool] | None = {
            "role": _ROLES.__contains__,
            "position": _POSITIONS.__contains__,
        }.get(name)
        if allowed is None or not allowed(value.lower()):
            return False
        self._words[name] = value.lower()
        return True

    def _take_number(self, name: str, value: str) -> bool:
        if not (value.isascii() and value.isdecimal() and len(value) <= 9):
            return False
        self._numbers[name] = int(value)
        return True
