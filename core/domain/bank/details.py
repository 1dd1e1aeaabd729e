"""What an item of the bank says besides its name and text, by its kind (design 15).

The names of fields are those of the seeds where these have one.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal


class ItemKind(StrEnum):
    """What an item is about."""

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
    """How a character speaks and acts."""
    STATE = "state"
    """Something about a character that play changed: a line of its sheet."""

    @property
    def memory(self) -> "MemoryType":
        """The type of memory that it belongs to, as seed 004 has them."""
        return _MEMORY.get(self, MemoryType.SEMANTIC)


class MemoryType(StrEnum):
    """The types of memory. Working memory is what an input has, and is never stored."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


_MEMORY: Final = {ItemKind.EVENT: MemoryType.EPISODIC, ItemKind.TRAIT: MemoryType.PROCEDURAL}


class ThreadCategory(StrEnum):
    """What kind of topic a thread is; the values are those of seed 001."""

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
class EventDetails:
    """Something that happened."""

    kind: Literal[ItemKind.EVENT] = ItemKind.EVENT
    participants: tuple[str, ...] = ()
    context: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDetails:
    """Something that is true."""

    kind: Literal[ItemKind.FACT] = ItemKind.FACT


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDetails:
    """Someone outside the cast, and the relation to it."""

    kind: Literal[ItemKind.PERSON] = ItemKind.PERSON
    relationship: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceDetails:
    """A place."""

    kind: Literal[ItemKind.PLACE] = ItemKind.PLACE


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDetails:
    """An open topic, or one that is closed."""

    kind: Literal[ItemKind.THREAD] = ItemKind.THREAD
    category: ThreadCategory = ThreadCategory.CONCERN
    stakes: str = ""
    is_closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteDetails:
    """The words of a speaker: the item's text. Its evidence has their place."""

    kind: Literal[ItemKind.QUOTE] = ItemKind.QUOTE
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitDetails:
    """How a character speaks or acts, and how strongly: 0 to 1."""

    kind: Literal[ItemKind.TRAIT] = ItemKind.TRAIT
    strength: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDetails:
    """One line of a character's sheet."""

    kind: Literal[ItemKind.STATE] = ItemKind.STATE
    aspect: Aspect = Aspect.OTHER
    other: str = ""
    """For a relation, the one to whom it is."""
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
DETAILS_OF: Final[dict[ItemKind, type[Details]]] = {
    ItemKind.EVENT: EventDetails,
    ItemKind.FACT: FactDetails,
    ItemKind.PERSON: PersonDetails,
    ItemKind.PLACE: PlaceDetails,
    ItemKind.THREAD: ThreadDetails,
    ItemKind.QUOTE: QuoteDetails,
    ItemKind.TRAIT: TraitDetails,
    ItemKind.STATE: StateDetails,
}
