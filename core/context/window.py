"""Renders an input as a picture: each part's share of the window, and how it was shortened (design 16).

In plain text, for the command line and the screen alike: a letter stands for a part, a point for free
space.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, Final

from core.context.segments import (
    KEPT_WHOLE,
    Compression,
    CompressionMethod,
    Context,
    Segment,
    kind_of,
    priority_of,
)
from core.text.delimiters import SegmentName
from core.text.numbers import counted

WINDOW_NOTES: Final = "WINDOW_NOTES"
"""The name under which the parts of an input list what is known of some of them; no model is sent it."""
_LONGEST_NOTES: Final = 10_000
_MOST_TOKENS: Final = 1_000_000_000
_BAR: Final = 60
"""Cells of the bar."""
_FREE: Final = "·"
_ORDER: Final = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class WindowPart:
    """A part of an input, with its tokens at an estimate."""

    name: str
    tokens: int
    compression: Compression | None = None
    place: str = field(default="", compare=False)
    """When it goes where room is short, and what speaks for it; known of an input that is being made, and of
    a call whose input recalled something."""


def parts_of(context: Context) -> tuple[WindowPart, ...]:
    """Return the parts of an input that is made."""
    return tuple(
        WindowPart(one.name.value, one.tokens, one.compression, _place(one)) for one in context.segments
    )


def _place(one: Segment) -> str:
    percent = None if one.relevance is None else round(100 * one.relevance)
    return _place_text(one.name.value, one.recency, percent)


def _place_text(name: str, recency: int | None, relevance: int | None) -> str:
    """Return priority, recency and relevance of a part that a budget may reduce; empty for the others.

    `recency` is in prompts, `relevance` in percent.
    """
    priority = priority_of(name)
    if priority >= KEPT_WHOLE:
        return ""
    said = [f"reduced {_ORDER[priority - 1]}"]
    if recency is not None:
        said.append(f"newest {counted(recency, 'prompt')} ago" if recency else "up to date")
    if relevance is not None:
        said.append(f"{_percent(relevance, 100)} for this prompt")
    return ", ".join(said)


def window_text(parts: Sequence[WindowPart], left_out: Sequence[str] = (), most: int = 0) -> str:
    """Return the picture of an input, in lines of at most 60 cells, and what was left out of it.

    `most` are the tokens that it may have; 0 if that is not known.
    """
    total = sum(part.tokens for part in parts)
    room = max(total, most, 1)
    said = f"{total:,} of {most:,} tokens ({_percent(total, room)})" if most else f"{total:,} tokens"
    lines = [f"About {said}", _bar(parts, room)]
    for letter, part in zip(_letters(len(parts)), parts, strict=True):
        share = _percent(part.tokens, max(total, 1))
        lines.append(f"{letter} {part.name:<26} {_kind(part.name):<9} {part.tokens:>9,} {share:>5}")
        if part.place:
            lines.append(f"  {part.place}")
        if part.compression is not None:
            lines.append(f"  {compression_text(part.compression, part.tokens)}")
    return "\n".join((*lines, *(f"Left out: {line}" for line in left_out)))


def compression_text(made: Compression, tokens: int) -> str:
    """Return how a part was shortened to its `tokens`, with the kept share."""
    whole = made.original_tokens
    return f"{made.method.value}, from {whole:,} to {tokens:,} tokens ({_percent(tokens, whole)})"


def notes_of(segments: Sequence[Segment]) -> str:
    """Return what is kept with a call: the parts that were made shorter, and where something was recalled
    also how recent and how relevant each part was. Empty where there is nothing to keep.
    """
    kept: list[list[str | int | None]] = [
        [one.name.value, one.compression.method.value, one.compression.original_tokens, one.tokens]
        for one in segments
        if one.compression is not None
    ]
    if any(one.name is SegmentName.RECALLED for one in segments):
        kept += [
            [one.name.value, one.recency, None if one.relevance is None else round(100 * one.relevance)]
            for one in segments
            if one.priority < KEPT_WHOLE
        ]
    return json.dumps(kept) if kept else ""


def read_notes(text: str) -> tuple[WindowPart, ...]:
    """Return the parts that were made shorter, as they were stored; invalid notes are left out."""
    return tuple(
        WindowPart(row[0], row[3], Compression(CompressionMethod(row[1]), row[2]))
        for row in _rows(text)
        if [type(value) for value in row] == [str, str, int, int]
        and row[1] in list(CompressionMethod)
        and 0 <= row[3] <= row[2] <= _MOST_TOKENS
        and row[2]
    )


def read_places(text: str) -> dict[str, str]:
    """Return by their names when parts were to go and what spoke for them, as it was kept."""
    return {
        row[0]: _place_text(*row)
        for row in _rows(text)
        if len(row) == 3
        and isinstance(row[0], str)
        and _is_number(row[1], _MOST_TOKENS)
        and _is_number(row[2], 100)
    }


def _rows(text: str) -> list[list[Any]]:
    """Return the rows of notes; none where these cannot be read."""
    try:
        rows = json.loads(text) if len(text) <= _LONGEST_NOTES else []
    except (ValueError, RecursionError):
        return []
    return [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []


def _is_number(value: object, most: int) -> bool:
    return value is None or (type(value) is int and 0 <= value <= most)


def kept_share(shortened: Sequence[WindowPart]) -> float | None:
    """Return what is left of the parts that were made shorter, 0 to 1; None where all are whole."""
    whole = sum(part.compression.original_tokens for part in shortened if part.compression is not None)
    return sum(part.tokens for part in shortened) / whole if whole else None


def _bar(parts: Sequence[WindowPart], room: int) -> str:
    """Return one line in which each part has its share; a part that is there has one cell at least."""
    widths = [max(bool(part.tokens), part.tokens * _BAR // room) for part in parts]
    filled = round(sum(part.tokens for part in parts) * _BAR / room)
    target = min(_BAR, max(filled, sum(bool(part.tokens) for part in parts)))
    while (over := sum(widths) - target) and widths:
        widths[widths.index(max(widths))] -= 1 if over > 0 else -1
    cells = "".join(letter * width for letter, width in zip(_letters(len(parts)), widths, strict=True))
    return f"[{cells:{_FREE}<{_BAR}}]"


def _letters(count: int) -> str:
    """Return a letter for each part; there are fewer parts than letters, unless prompt blocks are many."""
    return (ascii_uppercase * (count // len(ascii_uppercase) + 1))[:count]


def _kind(name: str) -> str:
    return kind_of(SegmentName(name)).value if name in list(SegmentName) else ""


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"
