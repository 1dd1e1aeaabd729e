"""Details of an item of the memory bank by its kind, besides name and text (design 15).

The names of fields are those of the seeds where these have one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any, Final, Literal, get_args

from core.domain.ids import ItemId

MOST_LISTED: Final = 8
"""Entries of one list of details, such as the attributes of a person or the steps of a skill."""
MOST_PROVED: Final = 16
"""Items that one quote proves."""
LONGEST_MS: Final = 100 * 365 * 24 * 3_600_000
"""The longest time of the story that is kept in milliseconds: a hundred years."""


class ItemKind(StrEnum):
    """Kind of an item, by its subject."""

    EVENT = "event"
    """Something that happened: who took part, and how it ended."""
    FACT = "fact"
    PERSON = "person"
    """Someone outside the cast."""
    PLACE = "place"
    THREAD = "thread"
    """A topic that is open: a goal, a conflict, a mystery."""
    QUOTE = "quote"
    TRAIT = "trait"
    """A way in which a character speaks or acts."""
    STATE = "state"
    """Something about a character that play changed: a line of its sheet."""

    @property
    def memory(self) -> "MemoryType":
        """The type of memory that it belongs to."""
        return _MEMORY.get(self, MemoryType.SEMANTIC)


NAMED: Final = (ItemKind.PERSON, ItemKind.PLACE)
"""Kinds of items whose subject is a name."""


class MemoryType(StrEnum):
    """The types of memory. Working memory is what an input has, and is never stored."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


_MEMORY: Final = {ItemKind.EVENT: MemoryType.EPISODIC, ItemKind.TRAIT: MemoryType.PROCEDURAL}


class ThreadCategory(StrEnum):
    """Category of a thread."""

    INTEREST = "Interest"
    GOAL = "Goal"
    DREAM = "Dream"
    CONFLICT = "Conflict"
    CONCERN = "Concern"
    FEAR = "Fear"
    HOPE = "Hope"
    PLAN = "Plan"
    PROJECT = "Project"


class Aspect(StrEnum):
    """The part of a character's sheet that a state belongs to."""

    POSSESSION = "possession"
    WOUND = "wound"
    MOOD = "mood"
    WHEREABOUTS = "whereabouts"
    RELATION = "relation"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """A relation to another thing or person, such as “sister of” and “Kara”."""

    relation: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A quality with its value, such as “age” and “sixty”."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """Use of a skill in play: how often, and how well it went."""

    execution_count: int = 1
    success_rate: float | None = None
    """The share of the uses that went well, 0 to 1."""
    last_execution: int | None = None
    """The prompt of the last use."""
    average_duration_ms: int | None = None
    """Mean duration of a use in story time; None where play does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDetails:
    """Something that happened."""

    kind: Literal[ItemKind.EVENT] = ItemKind.EVENT
    participants: tuple[str, ...] = ()
    context: str = ""
    outcome: str = ""
    duration_ms: int | None = None
    """Duration in story time."""
    sequence_number: int | None = None
    """Its number among the events that were drawn from the chapter, in the order of play."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDetails:
    """Something that is true."""

    kind: Literal[ItemKind.FACT] = ItemKind.FACT
    attributes: tuple[Attribute, ...] = ()
    relationships: tuple[Relationship, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDetails:
    """Someone outside the cast, and the relation to it."""

    kind: Literal[ItemKind.PERSON] = ItemKind.PERSON
    relationship: str = ""
    attributes: tuple[Attribute, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    exposure_current: float | None = None
    """Amount of recent play about it, 0 to 1, as of the item's prompt; it fades from there."""
    exposure_desired: float | None = None
    """Interest of the cast in returning to it, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceDetails:
    """A place."""

    kind: Literal[ItemKind.PLACE] = ItemKind.PLACE
    attributes: tuple[Attribute, ...] = ()
    relationships: tuple[Relationship, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDetails:
    """An open topic, or one that is closed."""

    kind: Literal[ItemKind.THREAD] = ItemKind.THREAD
    category: ThreadCategory = ThreadCategory.CONCERN
    stakes: str = ""
    is_closed: bool = False
    exposure_current: float | None = None
    exposure_desired: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteDetails:
    """The words of a speaker: the item's text. Its evidence has their place."""

    kind: Literal[ItemKind.QUOTE] = ItemKind.QUOTE
    speaker: str = ""
    data_item_ids: tuple[ItemId, ...] = ()
    """The items that its words prove: their own proof is in the same words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitDetails:
    """A way in which a character speaks or acts, with its strength, 0 to 1; a skill has more fields."""

    kind: Literal[ItemKind.TRAIT] = ItemKind.TRAIT
    strength: float = 0.5
    steps: tuple[str, ...] = ()
    """The steps, in order."""
    prerequisites: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    performance: Performance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDetails:
    """One line of a character's sheet."""

    kind: Literal[ItemKind.STATE] = ItemKind.STATE
    aspect: Aspect = Aspect.OTHER
    other: str = ""
    """The other character of a relation."""
    is_over: bool = False
    """It no longer holds: it supersedes what was, and is no line of the sheet."""


Details = (
    EventDetails
    | FactDetails
    | PersonDetails
    | PlaceDetails
    | ThreadDetails
    | QuoteDetails
    | TraitDetails
    | StateDetails
)
DETAILS_OF: Final[dict[ItemKind, type[Details]]] = {one().kind: one for one in get_args(Details)}

Exposed = PersonDetails | ThreadDetails
"""Kinds of details with an exposure, which play raises."""
ADDED: Final = frozenset(
    {
        *("attributes", "relationships", "exposure_current", "exposure_desired", "data_item_ids"),
        *("steps", "prerequisites", "outcomes", "performance", "duration_ms", "sequence_number"),
    }
)
"""The fields that most items do not have: where they are unset, neither rows nor exports have them."""


def without_unset(plain: dict[str, Any]) -> dict[str, Any]:
    """Return plain details without the fields of `ADDED` that say nothing."""
    return {name: value for name, value in plain.items() if value or name not in ADDED or value == 0.0}


def texts_of(details: Details) -> Iterator[str]:
    """Yield every text that details have, also those of attributes, relationships and lists."""
    for one in fields(details):
        value = getattr(details, one.name)
        if isinstance(value, str) and one.name != "kind":
            yield value
        for part in value if isinstance(value, tuple) else ():
            if isinstance(part, str):
                yield part
            elif is_dataclass(part):
                yield from (getattr(part, inner.name) for inner in fields(part))
