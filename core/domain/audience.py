"""The characters that witness an event, and that may know what was made from it (design 13).

An audience is a set of slots. The label of something that was made from story text is an audience too: the
intersection of the audiences of everything that it was made from.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from core.domain.slot import Slot

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_ALL: Final = frozenset(Slot)
LARGEST_MASK: Final = (1 << len(Slot)) - 1


@dataclass(frozen=True, slots=True)
class Audience:
    """The slots that may know something; the GM and the narrative agent always may."""

    slots: frozenset[Slot] = _ALL

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Return the schema of an audience in files: its slots as a list, in order."""
        from pydantic_core import core_schema  # The first paint waits for this module, not for files.

        return core_schema.no_info_after_validator_function(
            cls.of,
            handler.generate_schema(list[Slot]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda audience: [slot.value for slot in audience]
            ),
        )

    @classmethod
    def of(cls, slots: Iterable[Slot]) -> "Audience":
        """Return the audience of these slots."""
        return cls(frozenset(slots))

    @classmethod
    def of_mask(cls, mask: int) -> "Audience":
        """Return the audience with the bits of `mask`: 1 for slot 1, 2 for slot 2, 4 for slot 3, and so on.

        Raises ValueError for a mask with other bits.
        """
        if not 0 <= mask <= LARGEST_MASK:
            raise ValueError(f"an audience has a mask of 0 to {LARGEST_MASK}, not {mask}")
        return _of_mask(mask)

    @property
    def mask(self) -> int:
        """The audience as a number, for rows and for a stable order."""
        return _mask_of(self.slots)

    @property
    def is_everyone(self) -> bool:
        """Whether all slots are in it, also those without a character."""
        return self.slots == _ALL

    def __iter__(self) -> Iterator[Slot]:
        """Yield the slots in their order."""
        return iter(sorted(self.slots))

    def __contains__(self, slot: object) -> bool:
        return slot in self.slots

    def __and__(self, other: "Audience") -> "Audience":
        return Audience(self.slots & other.slots)

    def __or__(self, other: "Audience") -> "Audience":
        return Audience(self.slots | other.slots)

    def includes(self, other: "Audience") -> bool:
        """Whether everyone of `other` is in this audience."""
        return other.slots <= self.slots


EVERYONE: Final = Audience()
NOBODY: Final = Audience(frozenset())


def audience_of(slots: Iterable[Slot], cast: Iterable[Slot]) -> Audience:
    """Return the audience of these characters: everyone, if all of the cast are among them.

    So what the whole cast has heard is one audience, however it was named.
    """
    audience = Audience.of(slots)
    return EVERYONE if frozenset(cast) <= audience.slots else audience


def widest_first(audiences: Iterable[Audience]) -> list[Audience]:
    """Return the distinct audiences, larger ones before smaller ones, in a stable order."""
    return sorted(set(audiences), key=lambda audience: (-len(audience.slots), audience.mask))


# Every row has an audience, and there are at most 128.
@cache
def _of_mask(mask: int) -> Audience:
    return Audience(frozenset(slot for slot in Slot if mask & _bit(slot)))


@cache
def _mask_of(slots: frozenset[Slot]) -> int:
    return sum(map(_bit, slots))


def _bit(slot: Slot) -> int:
    return 1 << (slot.value - 1)
