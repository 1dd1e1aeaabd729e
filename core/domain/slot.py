"""A slot is a character's place, 1 to 7, with a fixed colour and a name chosen by the GM (design 2)."""

from enum import IntEnum
from functools import cached_property


class Slot(IntEnum):
    """One of the seven slots; the member's name is its colour."""

    RED = 1
    ORANGE = 2
    YELLOW = 3
    GREEN = 4
    BLUE = 5
    INDIGO = 6
    VIOLET = 7

    @property
    def colour(self) -> str:
        """The colour in lower case, as the JSON of agent 0 names it."""
        return self.name.lower()

    @cached_property
    def default_name(self) -> str:
        """The character's name unless the GM gives another."""
        return f"Agent {self.name.capitalize()}"


def first_slots(count: int) -> tuple[Slot, ...]:
    """Return the first `count` slots, 1 to 7; raise ValueError outside that range."""
    if not 1 <= count <= len(Slot):
        raise ValueError(f"a chapter has 1 to {len(Slot)} characters, not {count}")
    return tuple(Slot)[:count]


def slot_after(slot: Slot, slots: tuple[Slot, ...]) -> Slot:
    """Return the next selected slot, wrapping around at the end (design 10, tab 2)."""
    ordered = sorted(slots)
    return next((candidate for candidate in ordered if candidate > slot), ordered[0])
