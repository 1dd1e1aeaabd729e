"""A lorebook and its entries, in the terms that all formats are read into (design 14)."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

from core.library.json_document import JsonDocument, Path

MOST_ENTRIES: Final = 50_000
MOST_KEYS: Final = 1_000
"""Keys of one entry that are typed; in a file it may have more."""
MOST_KEYS_OF_BOOK: Final = 200_000
MOST_EXPRESSIONS: Final = 20_000
"""Regular expressions of one book."""
GREATEST_DEPTH: Final = 1_000
"""Messages that are scanned at most."""


class Logic(IntEnum):
    """Condition on the secondary keys, once a primary key was found."""

    AND_ANY = 0
    NOT_ALL = 1
    NOT_ANY = 2
    AND_ALL = 3


class Position(IntEnum):
    """Place of an entry's text in an input."""

    BEFORE_CHARACTER = 0
    AFTER_CHARACTER = 1
    NOTE_TOP = 2
    NOTE_BOTTOM = 3
    AT_DEPTH = 4
    EXAMPLES_TOP = 5
    EXAMPLES_BOTTOM = 6
    OUTLET = 7


class Role(IntEnum):
    """As whose message a text at a depth is sent."""

    SYSTEM = 0
    USER = 1
    ASSISTANT = 2


class LoreFormat(StrEnum):
    """The formats of lorebooks; the first three can be written too."""

    CHARACTER_BOOK = "character_book"
    LOREBOOK_V3 = "lorebook_v3"
    WORLD_INFO = "world info"
    NOVEL_AI = "NovelAI"
    AGNAI = "Agnai"
    RISU = "Risu"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreEntry:
    """One entry. None in a switch means off; None in a depth means that of the book, else of the scan."""

    uid: str
    """Its name in the book; unique there."""
    name: str = ""
    keys: tuple[str, ...] = ()
    """Any of them activates the entry; `/pattern/flags` is a regular expression."""
    secondary: tuple[str, ...] = ()
    content: str = ""
    """With its decorators, as the author wrote it."""
    is_enabled: bool = True
    is_constant: bool = False
    is_selective: bool = True
    """Whether the secondary keys count."""
    logic: Logic = Logic.AND_ANY
    order: int = 100
    """Higher goes first for the budget, and is nearer to the end within one position."""
    position: Position = Position.BEFORE_CHARACTER
    depth: int = 4
    role: Role = Role.SYSTEM
    outlet: str = ""
    probability: float = 100.0
    """Percent."""
    uses_probability: bool = True
    scan_depth: int | None = None
    """Number of the newest messages that are scanned; 0 scans no message."""
    case_sensitive: bool | None = None
    whole_words: bool | None = None
    uses_regex: bool = False
    """Whether every key is a regular expression, also without slashes."""
    priority: int | None = None
    """Lower is dropped first when the budget of the book itself is used up."""
    ignores_budget: bool = False
    excludes_recursion: bool = False
    """Whether texts of other entries cannot activate it."""
    prevents_recursion: bool = False
    """Whether its text cannot activate others."""
    delay_until_recursion: int = 0
    """The level of recursion from which on it can be activated; 0 for at once."""
    groups: tuple[str, ...] = ()
    """Of the members of a group one alone is taken."""
    is_group_override: bool = False
    group_weight: int = 100
    group_scoring: bool | None = None
    sticky: int = 0
    """For how many messages it stays active."""
    cooldown: int = 0
    """Number of messages after that during which it cannot be activated."""
    delay: int = 0
    """Least number of messages before it can be activated."""
    matches_persona: bool = False
    matches_description: bool = False
    matches_personality: bool = False
    matches_depth_prompt: bool = False
    matches_scenario: bool = False
    matches_notes: bool = False
    triggers: tuple[str, ...] = ()
    """The kinds of generation for which it can be activated; none means all."""
    filter_names: tuple[str, ...] = ()
    filter_tags: tuple[str, ...] = ()
    filter_excludes: bool = False
    """Whether the filter names the characters that it excludes."""


MATCHES: Final = (
    "matches_persona",
    "matches_description",
    "matches_personality",
    "matches_depth_prompt",
    "matches_scenario",
    "matches_notes",
)
"""The switches of an entry whose keys may also be in a text of a character or of a persona."""


@dataclass(frozen=True, slots=True)
class LoreSource:
    """The text that a book was read from, and where in it the book and its entries are."""

    document: JsonDocument
    format: LoreFormat
    path: Path
    """The object that holds `entries`; of Risu, `data`."""
    places: dict[str, str | int]
    """The place of each entry in the list or object of entries, by its uid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lorebook:
    """A book of lore. None means that the book says nothing about it."""

    name: str = ""
    description: str = ""
    entries: tuple[LoreEntry, ...] = ()
    scan_depth: int | None = None
    token_budget: int | None = None
    is_recursive: bool | None = None
    source: LoreSource | None = field(default=None, compare=False, repr=False)
