"""An item of the memory bank, and its strength: the share of its importance that has not faded (design 15).

The program only adds items: what is newer says which one it supersedes, so that an undone prompt brings the
older one back. The GM alone changes one; each change is a version of its own, and is kept.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import exp
from typing import Final

from core.domain.audience import EVERYONE, Audience
from core.domain.bank.details import Details, Exposed, FactDetails, ItemKind
from core.domain.bank.evidence import Evidence
from core.domain.ids import ItemId, RequestId, SessionId
from core.domain.slot import Slot

LONGEST_ITEM_NAME: Final = 200
LONGEST_TEXT: Final = 2_000
MOST_EVIDENCE: Final = 8
MOST_PARTICIPANTS: Final = 16
USUAL_DECAY: Final = 0.002
"""Default decay of importance for each prompt: half of it is left after 350 prompts."""


class Validation(StrEnum):
    """The GM's verdict on an item."""

    NONE = "none"
    SEEN = "seen"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    """It is not recalled, and nothing like it is proposed again."""


_CONFIRMED: Final = Validation.CONFIRMED
"""Asked of each item of an input, for which the members of an enumeration are slow to find."""


class ItemOrigin(StrEnum):
    """Author of an item."""

    EXTRACTED = "extracted"
    """A model drew it from play, and the program found its evidence."""
    GM = "gm"


class SourceOrigin(StrEnum):
    """The origin of an item's words."""

    EXTRACTED = "extracted"
    """Drawn from one part of play."""
    LEARNED = "learned"
    """Drawn from play, and brought up to date since: a newer part said more, or something else."""
    CONFIGURED = "configured"
    """The words are the GM's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that is remembered.

    `importance` and `confidence` are 0 to 1, `sentiment` is -1 to 1. `label` is who may know it.
    """

    id: ItemId
    session_id: SessionId
    version: int = 1
    name: str
    """Its subject, in a few words."""
    text: str
    details: Details = field(default_factory=FactDetails)
    about: Slot | None = None
    """The character of the cast that it belongs to: of a trait or a state its own, of a quote the speaker."""
    label: Audience = EVERYONE
    importance: float = 0.5
    confidence: float = 0.5
    sentiment: float = 0.0
    decay_rate: float = USUAL_DECAY
    """Rate at which importance falls for each prompt, continuously."""
    validation: Validation = Validation.NONE
    is_pinned: bool = False
    """It never fades, and comes first."""
    is_by_gm: bool = False
    """The GM wrote or changed its words: nothing that a model says replaces them."""
    origin: ItemOrigin = ItemOrigin.EXTRACTED
    prompt_index: int
    """The last prompt of its source, such as a chunk; the item counts while that prompt's `take` is canon."""
    take: int | None = 1
    """None for one that no prompt can take back: the GM's own."""
    evidence: tuple[Evidence, ...] = ()
    supersedes: ItemId | None = None
    """The older item that this one replaces, while it counts itself. One of an earlier chapter of the book is
    replaced from here on, and not there."""
    merged_into: ItemId | None = None
    """The item that says the same, in which the GM lets it go on."""
    undoes: int | None = None
    """The version of it that this version takes back, where the GM undid a change or did it again."""
    expires_at: int | None = None
    """The last prompt at which it is recalled."""
    request_id: RequestId | None = None
    """The extraction that it came from."""
    created_at: datetime
    updated_at: datetime

    @property
    def kind(self) -> ItemKind:
        """The kind of its details."""
        return self.details.kind

    @property
    def title(self) -> str:
        """Its name; of a quote the words, since all that one has said may be called alike."""
        return self.text if self.kind is ItemKind.QUOTE else self.name

    @property
    def source_origin(self) -> SourceOrigin:
        """The origin of its words."""
        if self.is_by_gm:
            return SourceOrigin.CONFIGURED
        return SourceOrigin.EXTRACTED if self.supersedes is None else SourceOrigin.LEARNED

    @property
    def proved_at(self) -> int:
        """The last prompt of its evidence; for one without, the one that it is from."""
        if len(self.evidence) == 1:  # as most have
            return self.evidence[0].prompt_index
        return max((one.prompt_index for one in self.evidence), default=self.prompt_index)

    @property
    def is_fading(self) -> bool:
        """Whether it loses importance while it is not used: pinned and confirmed ones never do."""
        return not (self.is_pinned or self.validation is _CONFIRMED)

    @property
    def is_kept(self) -> bool:
        """Whether nothing that a model says supersedes it: what the GM wrote, confirmed or pinned."""
        return self.is_by_gm or not self.is_fading

    @property
    def is_out(self) -> bool:
        """Whether the GM took it out: rejected, or merged into another."""
        return self.validation is Validation.REJECTED or self.merged_into is not None

    def next_version(self, now: datetime) -> "Item":
        """Return it as the version that a change of the GM's makes."""
        return replace(self, version=self.version + 1, updated_at=now, undoes=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAccess:
    """Number of times that a chapter recalled an item, and the prompt of the last one."""

    item_id: ItemId
    access_count: int
    last_accessed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """An item of an earlier chapter of a book that is superseded by one of a later chapter.

    In its own chapter it is as it was; a later chapter has the newer one for those who may know that.
    """

    item_id: ItemId
    session_id: SessionId
    """The chapter of the older item."""
    replaced_in: SessionId
    """The chapter of the newer one."""
    label: Audience
    """Those who may know the newer one, in the label of its chapter."""


def strength_of(
    item: Item, prompt_index: int, last_accessed: int | None = None, at: datetime | None = None
) -> float:
    """Return the importance that an item has at a prompt, 0 to 1.

    It decays by the prompts since it was drawn from play, or recalled last; with a time `at` by the hours
    instead, at the same rate. Pinned and confirmed items keep theirs.
    """
    return item.importance * (_left(item, prompt_index, last_accessed, at) if item.is_fading else 1.0)


def exposure_of(
    item: Item, prompt_index: int, last_accessed: int | None = None, at: datetime | None = None
) -> float | None:
    """Return how much play spoke of a thread or a person lately, 0 to 1; None where nothing is known of it.

    It falls as importance does, and what the GM keeps falls too: to be kept is not to be spoken of.
    """
    exposure = item.details.exposure_current if isinstance(item.details, Exposed) else None
    return None if exposure is None else exposure * _left(item, prompt_index, last_accessed, at)


def faded_since(item: Item, newer: Item) -> float:
    """Return the share of an item that is left at the prompt of a newer one, 0 to 1."""
    return _left(item, newer.prompt_index, None, None)


def _left(item: Item, prompt_index: int, last_accessed: int | None, at: datetime | None) -> float:
    """Return the share that is left after all that passed since an item was drawn, or recalled last."""
    since = item.prompt_index
    if last_accessed is not None and last_accessed > since:
        since = last_accessed
    passed: float = prompt_index - since if prompt_index > since else 0
    if at is not None:
        passed = _hours_of(item, prompt_index, passed, at)
    return exp(-item.decay_rate * passed)


def _hours_of(item: Item, prompt_index: int, prompts: float, at: datetime) -> float:
    """Return the hours that so many of the last prompts took.

    When an item was recalled is known by its prompt alone, so it is as if play had gone on evenly.
    """
    since = max(0, prompt_index - item.prompt_index)
    share = prompts / since if since else 1.0
    return max(0.0, (at - item.created_at) / timedelta(hours=1)) * share


def has_expired(item: Item, prompt_index: int) -> bool:
    """Whether it is no longer recalled at a prompt; a pinned or confirmed item always is."""
    return item.expires_at is not None and prompt_index > item.expires_at and item.is_fading
