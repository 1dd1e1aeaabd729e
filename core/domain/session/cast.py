"""The characters of a chapter, assembled from the session and tab 1."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.domain.session.profile import NO_PROFILE, Profile
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.text.name_list import name_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """One character: its slot, its name and its identity."""

    slot: Slot
    given_name: str = ""
    """The GM's name for it; empty means the default."""
    identity: str = ""
    profile: Profile = NO_PROFILE
    """Its data from a character of the library."""

    @property
    def name(self) -> str:
        """The name to show: the GM's, else the default."""
        return self.given_name or self.slot.default_name

    @property
    def has_identity(self) -> bool:
        """Whether the GM wrote an identity."""
        return bool(self.identity.strip())


def slot_called(typed: str, names: Mapping[Slot, Sequence[str]]) -> Slot | None:
    """Return the slot that a typed name means, without regard to case; None for none, or for several.

    The first of the names of a slot is its own, and goes before the other names of others.
    """
    key = name_key(typed)
    found = [slot for slot, called in names.items() if called and name_key(called[0]) == key]
    found = found or [slot for slot, called in names.items() if key in map(name_key, called)]
    return found[0] if len(found) == 1 else None


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
    def other_names(self) -> Mapping[str, Slot]:
        """The other names of characters of this chapter that mean one of them."""
        names = (alias for one in self.playing for alias in one.profile.aliases)
        return {name: slot for name in names if (slot := self.called(name)) is not None}

    def called(self, typed: str) -> Slot | None:
        """Return the slot of this chapter that a name, or one of the other names, means; None for another."""
        return slot_called(typed, {one.slot: (one.name, *one.profile.aliases) for one in self.playing})

    def called_in_part(self, typed: str) -> list[Slot]:
        """Return the slots of this chapter that have a name which begins with `typed`, or has such a word."""
        key = name_key(typed)
        names = ((one.slot, map(name_key, (one.name, *one.profile.aliases))) for one in self.playing)
        return [
            slot
            for slot, keys in names
            if key and any(whole.startswith(key) or key in whole.split() for whole in keys)
        ]

    @property
    def playing(self) -> tuple[Character, ...]:
        """The characters of this chapter, in slot order."""
        return tuple(self[slot] for slot in self._playing)
