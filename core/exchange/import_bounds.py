"""Bounds of a file that is imported: what is larger or deeper than any export is refused before validation.

A megabyte of `[],[],…` is half a million Python objects, and one error for each when they are validated. So
values are counted while they are still bytes, and the parsed document is walked without recursion.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

MOST_VALUES: Final = 4_000_000
"""A chapter of ten thousand prompts with every call that was made has fewer than one million."""
MOST_KEYS: Final = 1_000
"""Keys of an object, and entries of a list, in a record; memory and metadata have what their texts hold."""
DEEPEST: Final = 150
LARGEST_NUMBER: Final = 2**31 - 1
"""Numbers of records are columns of four bytes; those of memory and metadata are kept as they are."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_ENTRIES_OF_RECORDS = ("block_ids", "left_out")
_FREE_FORM = ("payload", "metadata")


class BoundExceededError(Exception):
    """A document that no export is; the message says in which respect."""


def parse(document: bytes) -> Any:
    """Return the parsed JSON; raise BoundExceededError, ValueError or RecursionError when it cannot be."""
    marks = _STRING.sub(b"", document)
    if sum(marks.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise BoundExceededError(f"it has more than {MOST_VALUES:,} values")
    parsed = json.loads(document, parse_constant=_refuse_constant)
    _refuse_what_is_too_much(parsed)
    return parsed


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _refuse_what_is_too_much(parsed: object) -> None:
    # (value, depth, whether numbers are those of columns, whether a list may be long)
    open_: list[tuple[object, int, bool, bool]] = [(parsed, 1, True, False)]
    while open_:
        value, depth, is_bounded, is_long = open_.pop()
        if isinstance(value, int) and is_bounded and abs(value) > LARGEST_NUMBER:
            raise BoundExceededError("it holds a number that is too large")
        if not isinstance(value, dict | list):
            continue
        if depth > DEEPEST:
            raise BoundExceededError(f"it is nested deeper than {DEEPEST} levels")
        if len(value) > MOST_KEYS and is_bounded and not (is_long and isinstance(value, list)):
            raise BoundExceededError(f"a list or an object in it has more than {MOST_KEYS:,} entries")
        open_ += (
            (inner, depth + 1, is_bounded and key not in _FREE_FORM, _may_be_long(key, depth))
            for key, inner in _entries(value)
        )


def _may_be_long(key: str, depth: int) -> bool:
    """Lists of records stand in the body, which is the second level; two lists in a record grow too."""
    return depth == 2 or key in _ENTRIES_OF_RECORDS


def _entries(value: Mapping[str, object] | list[object]) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        return iter(value.items())
    return (("", inner) for inner in value)
