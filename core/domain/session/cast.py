"""The characters of a chapter, assembled from the session and tab 1."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.domain.session.profile import NO_PROFILE, Profile
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """One character: its slot, its name and its identity."""

    slot: Slot
    given_name: str = ""
    """The GM's name for it; empty means the default."""
    identity: str = ""
    profile: Profile = NO_PROFILE
    """What it has of a character of the library."""

    @property
    def name(self) -> str:
        """The name to show: the GM's, else the default."""
        return self.given_name or self.slot.default_name

    @property
    def has_identity(self) -> bool:
        """Whether the GM wrote an identity."""
        return bool(self.identity.strip())


class Cast(Mapping[Slot, Character]):
    """All seven characters by slot, including those that do not play: their texts are kept."""

    def __init__(self, session: Session, tab1: Tab1Inputs) -> None:
        self._playing = tuple(sorted(session.slots))
        self._names, self._tab1 = session.names, tab1

    def __getitem__(self, slot: Slot) -> Character:
        return Character(
            slot=slot,
            given_name=self._names.get(slot, ""),
            identity=self._tab1.identities.get(slot, ""),
            profile=self._tab1.profile_of(slot),
        )

    def __iter__(self) -> Iterator[Slot]:
        return iter(Slot)

    def __len__(self) -> int:
        return len(Slot)

    @property
    def playing(self) -> tuple[Character, ...]:
        """The characters of this chapter, in slot order."""
        return tuple(self[slot] for slot in self._playing)
