"""A character of the library, which lives across chapters and books (design 14).

A chapter works with a copy of it. Numbers have the meaning and the ranges of the seed: sentiment -1 to 1,
strength and exposure 0 to 1.
"""

import re
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from core.domain.errors import IllegalCommandError
from core.domain.ids import CharacterId
from core.domain.session.profile import GENERAL, Profile
from core.text.cleaning import clean_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait:
    """A quality of a character: how strong it is (0 to 1), and how the character feels about it (-1 to 1)."""

    name: str
    description: str = ""
    strength: float = 0.5
    sentiment: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A subject that a character cares about. Exposure says how much it is talked about: now, and at best."""

    name: str
    perspective: str = ""
    """The character's opinion of it."""
    approach: str = ""
    """The character's way of dealing with it."""
    personal_stake: str = ""
    """Why it matters to this character."""
    sentiment: float = 0.0
    exposure_now: float = 0.0
    exposure_desired: float = 0.5


def record_of(item: Trait | Topic) -> dict[str, Any]:
    """Return all fields of a trait or a topic, as proposals and cards have them."""
    return {field.name: getattr(item, field.name) for field in fields(item)}


@dataclass(frozen=True, slots=True)
class Imported:
    """A character as it was imported from its card: later differences are changes by the GM.

    `rest` is the JSON of the card's data without a field here.
    """

    name: str
    identity: str
    rest: str
    file_hash: str = ""
    """The SHA-256 of the file with the card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryCharacter:
    """A character of the library. `version` counts its changes; a change of an older version is refused."""

    id: CharacterId
    name: str
    aliases: tuple[str, ...] = ()
    """Other names under which it is found."""
    short_description: str = ""
    identity: str = ""
    """The GM's text for it; of a card with its macros, and of any length: a chapter takes what fits."""
    traits: tuple[Trait, ...] = ()
    topics: tuple[Topic, ...] = ()
    model: str = ""
    """The model that plays it; empty for the one of the settings."""
    group: str = GENERAL
    groups_visible: tuple[str, ...] = (GENERAL,)
    """The groups that it may see besides its own; none means that it sees its own alone."""
    is_static: bool = False
    """Whether only the GM changes it, and never the program."""
    is_paused: bool = False
    paused_until: datetime | None = None
    """When a pause ends by itself; None for one without an end."""
    archived_at: datetime | None = None
    imported: Imported | None = None
    """The imported state, for a character from a card; None for a character that was made here."""
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which it is found, its own first."""
        return (self.name, *self.aliases)

    @property
    def sees(self) -> frozenset[str]:
        """The groups that it sees: its own, and those that it may see."""
        return frozenset((self.group or GENERAL, *self.groups_visible))

    @property
    def profile(self) -> Profile:
        """Its data for a chapter besides name and identity."""
        return Profile(
            character_id=self.id,
            aliases=self.aliases,
            short_description=self.short_description,
            group=self.group,
            groups_visible=self.groups_visible,
            model=self.model,
        )

    def is_paused_at(self, now: datetime) -> bool:
        """Whether it is paused; a pause with an end is over by then."""
        return self.is_paused and (self.paused_until is None or now < self.paused_until)


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file as it was imported, byte for byte; `name` is for sentences only."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """Its hash, in hexadecimal."""
        return sha256(self.content).hexdigest()


_END: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2})?", re.ASCII)
EXPECTED: Final = "Type the end of the pause as 2030-05-31 or 2030-05-31 18:00; blank is without an end."


def read_end(typed: str) -> datetime | None:
    """Return the end of a pause, by the clock here; None for a blank text. A day ends a pause when it begins.

    Raises IllegalCommandError for any other text.
    """
    text = clean_line(typed)
    if not text:
        return None
    try:
        return datetime.fromisoformat(text if _END.fullmatch(text) else "").astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise IllegalCommandError(EXPECTED) from error


def pause_text(character: LibraryCharacter, now: datetime) -> str:
    """Return whether a character is paused, and until when; empty for one that is not."""
    if not character.is_paused_at(now):
        return ""
    until = character.paused_until
    return f"paused until {until.astimezone():%Y-%m-%d %H:%M}" if until else "paused"
