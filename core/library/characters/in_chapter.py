"""A character of the library beside the one in a slot of a chapter: what differs, field by field (design 14).

A chapter has a copy that knows where it comes from: what is taken over is taken over by the GM.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeVar

from core.domain.ids import CharacterId
from core.domain.session.profile import NO_PROFILE, Profile
from core.library.characters.character import LibraryCharacter
from core.text.cleaning import clean, clean_line


class SharedField(StrEnum):
    """Fields that a character has in the library and in a chapter."""

    NAME = "name"
    IDENTITY = "identity"
    SHORT_DESCRIPTION = "short_description"
    ALIASES = "aliases"
    GROUP = "group"
    GROUPS_VISIBLE = "groups_visible"
    MODEL = "model"

    @property
    def is_list(self) -> bool:
        """Whether its text has a name in each line."""
        return self in (SharedField.ALIASES, SharedField.GROUPS_VISIBLE)


NO_VALUES: Final[Mapping[str, str]] = MappingProxyType({})
Sharing = TypeVar("Sharing", Profile, LibraryCharacter)
_OF_PROFILE: Final = tuple(field for field in SharedField if hasattr(NO_PROFILE, field))


@dataclass(frozen=True, slots=True)
class Compared:
    """One field on both sides; that of the library as a chapter would take it."""

    field: SharedField
    chapter: str
    library: str

    @property
    def is_same(self) -> bool:
        """Whether there is nothing to take over."""
        return self.chapter == self.library


def identity_for(character: LibraryCharacter, name: str) -> str:
    """Return the identity as a chapter takes it, for a character that is called `name` there.

    Macros are expanded, except `{{user}}`, because a chapter has no user. What one of them draws stays the
    same for a character.
    """
    return expanded(character.identity, character.id, name)


def expanded(text: str, character_id: CharacterId, name: str, values: Mapping[str, str] = NO_VALUES) -> str:
    """Return a text of a character's card as a chapter takes it; `values` are of more macros."""
    from core.library.macros import Draws, MacroNames, expand  # Loaded by the first character that is taken.

    names = MacroNames(char=name, user="{{user}}", values=values)
    return clean(expand(text, names, Draws(str(character_id))))


def compared(
    character: LibraryCharacter, name: str, identity: str, profile: Profile = NO_PROFILE
) -> tuple[Compared, ...]:
    """Return each field of a character and of a slot that has this name, this identity and this profile.

    Of a profile only those fields that say something on one of the sides.
    """
    called = clean_line(name)
    return (
        Compared(SharedField.NAME, called, character.name),
        Compared(SharedField.IDENTITY, clean(identity), identity_for(character, called or character.name)),
        *_compared(profile, character.profile),
    )


def _compared(chapter: Profile, library: Profile) -> Iterator[Compared]:
    for field in _OF_PROFILE:
        texts = [text_of(one, field) for one in (NO_PROFILE, chapter, library)]
        if len(set(texts)) > 1:
            yield Compared(field, *texts[1:])


def text_of(profile: Profile, field: SharedField) -> str:
    """Return what a field of a profile says: of a list, each name in a line."""
    value = getattr(profile, field)
    return "\n".join(value) if field.is_list else str(value)


def with_field(one: Sharing, field: SharedField, text: str) -> Sharing:
    """Return a profile or a character with another text in one field.

    A new identity of a character overwrites the macros of the old one.
    """
    said: dict[str, Any] = {field: tuple(text.splitlines()) if field.is_list else text}
    return replace(one, **said)
