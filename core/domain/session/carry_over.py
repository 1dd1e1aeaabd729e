"""Lines that a chapter takes over from earlier chapters of its book (design 14).

A line names the characters who know it, rather than their slots: in another chapter a slot may hold another
character, and a character that joins the book later knows nothing of earlier play.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from core.domain.errors import IllegalCommandError
from core.text.cleaning import clean, clean_line, is_blank

MOST_LINES: Final = 500
LONGEST_LINE: Final = 2_000
MOST_NAMES: Final = 200
GREATEST_BUDGET: Final = 100_000


class CarryKind(StrEnum):
    """Subject of a line."""

    CANON = "canon"
    """A canon lock, or a correction of canon by the GM."""
    THREAD = "thread"
    PLACE = "place"
    RELATION = "relation"
    KNOWLEDGE = "knowledge"


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedLine:
    """One line. A struck one enters no input; a pinned one goes on into every later chapter."""

    kind: CarryKind
    text: str
    known_to: tuple[str, ...] = ()
    """The names of the characters that may know it; the GM knows every line."""
    chapter: int = 1
    """The number of the chapter in the book that it comes from."""
    is_pinned: bool = False
    is_struck: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOver:
    """The lines of a chapter in their order, and the tokens that lines may have in each chapter of the book.

    `budget` is what the second chapter was given, so that a long book takes no more of an input than a short
    one. Pinned lines count, and are never left out.
    """

    budget: int = 0
    lines: tuple[CarriedLine, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a line."""
        return bool(self.lines)

    def with_line(self, number: int, line: CarriedLine) -> "CarryOver":
        """Return a copy with another line in the place of line `number`, from 0."""
        return replace(self, lines=(*self.lines[:number], line, *self.lines[number + 1 :]))


NOTHING_CARRIED: Final = CarryOver()
"""That of a chapter that is in no book, or is the first of one."""


def cleaned_carry_over(carried: CarryOver) -> CarryOver:
    """Return the same with every text on one line and without control characters."""
    lines = (
        replace(line, text=clean_line(line.text), known_to=tuple(map(clean_line, line.known_to)))
        for line in carried.lines
    )
    return replace(carried, lines=tuple(lines))


def problems_of_carry_over(carried: CarryOver) -> Iterator[str]:
    """Yield, in sentences, what keeps a carry-over from being stored."""
    if len(carried.lines) > MOST_LINES:
        yield f"A chapter takes over at most {MOST_LINES:,} lines."
    if not 0 <= carried.budget <= GREATEST_BUDGET:
        yield f"What a chapter takes over has at most {GREATEST_BUDGET:,} tokens."
    for line in carried.lines:
        if is_blank(line.text) or len(line.text) > LONGEST_LINE or clean(line.text) != line.text:
            yield f"A line that is taken over has 1 to {LONGEST_LINE:,} characters."
        if len(line.known_to) > MOST_NAMES or not 1 <= line.chapter <= GREATEST_BUDGET:
            yield "A line that is taken over names too many characters, or a chapter that cannot be."


def marked(before: CarryOver, after: CarryOver | None) -> CarryOver:
    """Return `after`, in which lines are pinned or struck; what there is where it is None.

    Raises IllegalCommandError where anything else of the lines differs.
    """

    def plain(lines: Sequence[CarriedLine]) -> list[CarriedLine]:
        return [replace(line, is_pinned=False, is_struck=False) for line in lines]

    if after is None:
        return before
    if before.budget != after.budget or plain(before.lines) != plain(after.lines):
        raise IllegalCommandError("Lines of earlier chapters can only be pinned or struck.")
    return after
