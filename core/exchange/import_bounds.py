"""Refuses imported files that are larger or deeper than any export, before they are validated.

A megabyte of `[],[],…` becomes half a million Python objects, and as many validation errors. So values are
counted while they are still bytes, and the parsed document is traversed without recursion.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX_VALUES: Final = 4_000_000
"""A chapter of ten thousand prompts with all their calls has fewer than one million."""
MAX_ENTRIES: Final = 1_000
"""Keys of an object or entries of a list in a record; free-form values have no such limit."""
MAX_DEPTH: Final = 150
MAX_NUMBER: Final = 2**31 - 1
"""Numbers in records are stored in four bytes; those in free-form values have no such limit."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_ENTRIES_OF_RECORDS = ("block_ids", "left_out")
_FREE_FORM = ("payload", "metadata", "details")
"""Values that are stored as JSON. Times in details of items pass four bytes; `bank.checks` bounds them."""


class BoundExceededError(Exception):
    """A document that cannot be an export; the message says why."""


def parse(document: bytes) -> Any:
    """Return the parsed JSON; raise BoundExceededError, ValueError or RecursionError when it cannot be."""
    marks = _STRING.sub(b"", document)
    if sum(marks.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise BoundExceededError(f"it has more than {MAX_VALUES:,} values")
    parsed = json.loads(document, parse_constant=_refuse_constant)
    _check_bounds(parsed)
    return parsed


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _check_bounds(parsed: object) -> None:
    # (value, depth, whether numbers are those of columns, whether a list may be long)
    open_: list[tuple[object, int, bool, bool]] = [(parsed, 1, True, False)]
    while open_:
        value, depth, is_bounded, is_long = open_.pop()
        if isinstance(value, int) and is_bounded and abs(value) > MAX_NUMBER:
            raise BoundExceededError("it holds a number that is too large")
        if not isinstance(value, dict | list):
            continue
        if depth > MAX_DEPTH:
            raise BoundExceededError(f"it is nested deeper than {MAX_DEPTH} levels")
        if len(value) > MAX_ENTRIES and is_bounded and not (is_long and isinstance(value, list)):
            raise BoundExceededError(f"a list or an object in it has more than {MAX_ENTRIES:,} entries")
        open_ += (
            (inner, depth + 1, is_bounded and key not in _FREE_FORM, _may_be_long(key, depth))
            for key, inner in _entries(value)
        )


def _may_be_long(key: str, depth: int) -> bool:
    """Whether a list can be long: lists of records, at the second level, and two lists in a record."""
    return depth == 2 or key in _ENTRIES_OF_RECORDS


def _entries(value: Mapping[str, object] | list[object]) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        return iter(value.items())
    return (("", inner) for inner in value)
