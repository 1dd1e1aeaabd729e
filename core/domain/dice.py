"""Dice in the usual notation: `d20`, `2d6+1` (design 13). The program rolls; a model is told the result."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from core.domain.errors import IllegalCommandError

MOST_DICE: Final = 100
MOST_SIDES: Final = 1_000
LARGEST_MODIFIER: Final = 10_000

_NOTATION: Final = re.compile(r"(\d{0,3})d(\d{1,4})(?:([+-])(\d{1,5}))?", re.IGNORECASE | re.ASCII)

Draw = Callable[[int], int]
"""Returns a number from 0 up to, and without, its argument, each as likely."""


@dataclass(frozen=True, slots=True)
class Dice:
    """A roll: number of dice, their sides, and a modifier."""

    count: int
    sides: int
    modifier: int = 0

    @property
    def notation(self) -> str:
        """The dice as the GM writes them."""
        count = "" if self.count == 1 else str(self.count)
        return f"{count}d{self.sides}" + (f"{self.modifier:+d}" if self.modifier else "")


@dataclass(frozen=True, slots=True)
class Roll:
    """A roll with every die."""

    dice: Dice
    values: tuple[int, ...]

    @property
    def total(self) -> int:
        """The sum of the dice and the modifier."""
        return sum(self.values) + self.dice.modifier

    @property
    def text(self) -> str:
        """The roll as one line of the story."""
        values = ", ".join(map(str, self.values))
        total = f"; total {self.total}" if len(self.values) > 1 or self.dice.modifier else ""
        return f"[Roll {self.dice.notation}: {values}{total}]"


def read_dice(notation: str) -> Dice:
    """Return the dice of a notation; raise IllegalCommandError with an example for anything else."""
    match = _NOTATION.fullmatch("".join(notation.split()))
    if match is None:
        raise IllegalCommandError(
            f"“{notation[:40]}” is not a roll of dice; write it like d20, 2d6 or 2d6+1."
        )
    count, sides, sign, added = match.groups()
    dice = Dice(int(count or 1), int(sides), int(f"{sign}{added}") if sign else 0)
    if not (1 <= dice.count <= MOST_DICE and 2 <= dice.sides <= MOST_SIDES):
        raise IllegalCommandError(
            f"A roll has 1 to {MOST_DICE} dice with 2 to {MOST_SIDES:,} sides, like 2d6."
        )
    if abs(dice.modifier) > LARGEST_MODIFIER:
        raise IllegalCommandError(f"A roll adds at most {LARGEST_MODIFIER:,}; write less.")
    return dice


def roll(dice: Dice, draw: Draw = secrets.randbelow) -> Roll:
    """Roll the dice; `draw` is a random source, seeded in tests."""
    return Roll(dice, tuple(draw(dice.sides) + 1 for _ in range(dice.count)))
