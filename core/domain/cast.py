"""The characters of a chapter: what the GM wrote of each, put together from what is stored of the session."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.domain.session import Session, Tab1Inputs
from core.domain.slot import Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """One character: its place, its name and who it is."""

    slot: Slot
    given_name: str = ""
    """The GM's name for it; empty means the default."""
    identity: str = ""

    @property
    def name(self) -> str:
        """The name that everybody sees."""
        return self.given_name or self.slot.default_name

    @property
    def has_identity(self) -> bool:
        """Whether the GM wrote who it is."""
        return bool(self.identity.strip())


class Cast(Mapping[Slot, Character]):
    """All seven characters by their slots, also those that do not play: what was written of them is kept."""

    def __init__(self, session: Session, tab1: Tab1Inputs) -> None:
        self._playing = tuple(sorted(session.slots))
        self._characters = {
            slot: Character(
                slot=slot,
                given_name=session.names.get(slot, ""),
                identity=tab1.identities.get(slot, ""),
            )
            for slot in Slot
        }

    def __getitem__(self, slot: Slot) -> Character:
        return self._characters[slot]

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._characters)

    def __len__(self) -> int:
        return len(self._characters)

    @property
    def playing(self) -> tuple[Character, ...]:
        """The characters of this chapter, in slot order."""
        return tuple(self._characters[slot] for slot in self._playing)
