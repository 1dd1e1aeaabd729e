"""A character of the library beside the one in a slot of a chapter: what differs, field by field (design 14).

A chapter has a copy, and nothing connects the two but the name: what is taken over is taken over by the GM.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from core.library.characters.character import Character
from core.library.macros import Draws, MacroNames, expand
from core.text.cleaning import clean, clean_line


class SharedField(StrEnum):
    """What a character has in the library and in a chapter."""

    NAME = "name"
    IDENTITY = "identity"


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


def identity_for(character: Character, name: str) -> str:
    """Return the identity as a chapter takes it, for a character that is called `name` there.

    Macros are expanded, except `{{user}}`, because a chapter has no user. What one of them draws stays the
    same for a character.
    """
    names = MacroNames(char=name, user="{{user}}")
    return clean(expand(character.identity, names, Draws(str(character.id))))


def compared(character: Character, name: str, identity: str) -> tuple[Compared, ...]:
    """Return each field of a character and of a slot that has this name and this identity."""
    called = clean_line(name)
    return (
        Compared(SharedField.NAME, called, character.name),
        Compared(SharedField.IDENTITY, clean(identity), identity_for(character, called or character.name)),
    )


def with_field(character: Character, field: SharedField, text: str) -> Character:
    """Return the character with another text in one field; `identity` replaces macros by what it says."""
    if field is SharedField.NAME:
        return replace(character, name=text)
    return replace(character, identity=text)
