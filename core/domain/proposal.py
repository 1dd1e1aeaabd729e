"""A change of a character of the library that the program proposes, and the GM takes or drops (design 14).

What it would replace is part of it, so a proposal is taken only where the character still has that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.domain.ids import CharacterId, ProposalId, RequestId, SessionId

MOST_RECORDS: Final = 8
"""Maximum number of traits or topics that one proposal removes, and that it adds."""
LONGEST_WHY: Final = 1_000
"""Characters of a reason."""
TEXT: Final = "text"
"""The key of the text in the record of a short description or an identity."""
NAME: Final = "name"
"""The key of the name in the record of a trait or a topic."""
Record = Mapping[str, str | float]


class ProposedPart(StrEnum):
    """The part of a character that a proposal changes."""

    SHORT_DESCRIPTION = "short_description"
    IDENTITY = "identity"
    """An addition behind the identity; the GM's own words stay."""
    TRAIT = "trait"
    TOPIC = "topic"


class Occasion(StrEnum):
    """The event that led to a proposal."""

    GAPS = "gaps"
    """The GM asked for missing details of a character."""
    CHAPTER = "chapter"
    """The character changed in a chapter."""
    EXPOSURE = "exposure"
    """A chapter spoke often, or rarely, about a topic."""
    FADE = "fade"
    """A topic that a chapter did not speak about."""
    MERGE = "merge"
    """Two traits or topics that say the same."""
    NEGLECT = "neglect"
    """A topic that the character wants to speak about, and did not for long."""


class ProposalState(StrEnum):
    """Whether the GM has decided."""

    OPEN = "open"
    TAKEN = "taken"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One change that can be taken.

    A record of a trait or a topic has its name and the fields that change; of a new one all of them. Those of
    `before` are replaced one by one by those of `after`: what is left of `before` goes, of `after` is added.
    """

    id: ProposalId
    character_id: CharacterId
    part: ProposedPart
    before: tuple[Record, ...] = ()
    """The replaced records, as they were when this was proposed."""
    after: tuple[Record, ...]
    why: str = ""
    """The reason: words of the chapter, or a sentence."""
    occasion: Occasion
    session_id: SessionId | None = None
    """The chapter that it is from, which may have been purged since."""
    request_id: RequestId | None = None
    """The request whose answer it is; None where no model was asked."""
    prompt_index: int | None = None
    """The prompt of the chapter that the reason is from."""
    state: ProposalState = ProposalState.OPEN
    created_at: datetime
    settled_at: datetime | None = None
    """When the GM decided."""

    @property
    def is_open(self) -> bool:
        """Whether the GM has not decided yet."""
        return self.state is ProposalState.OPEN

    def is_after(self, session_id: SessionId) -> bool:
        """Whether it is from the end of a chapter, and not a gap that was asked about meanwhile."""
        return self.session_id == session_id and self.occasion is not Occasion.GAPS

    @property
    def names(self) -> tuple[str, ...]:
        """The traits or topics that it is about, those that it replaces first; none for a text."""
        found = (str(record[NAME]) for record in (*self.before, *self.after) if NAME in record)
        return tuple(dict.fromkeys(found))
