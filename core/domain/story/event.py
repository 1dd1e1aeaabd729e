"""An event is one entry of the append-only log that tab 2 shows (design 2 and 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import EventId, LogPlace, SessionId
from core.domain.slot import Slot

REPEATS: Final = "repeats"
"""Key in `metadata` for the text that a reply repeats, in words, where no better reply came."""
REQUEST_ID: Final = "request_id"
"""The key under which `metadata` names the request."""
SECRET: Final = "secret"
"""Key in `metadata` for the number of the secret that an event reveals."""
PRESENT: Final = "present"
"""Key in `metadata` of the GM's text for the mask of those who were present, unless everyone was."""
AWAY: Final = "away"
"""Key in `metadata` of the GM's text for those who were away, as `Session.away`, if there were any."""
MANNER: Final = "manner"
"""Key in `metadata` for the manner of a reply without words."""
REASON: Final = "reason"
"""Key in `metadata` of a reply for why it has no words; only the GM reads it."""
LONGEST_REASON: Final = 1_000
"""Characters of a reason."""


CONTEXT: Final = "context"
"""Key in `metadata` for whether models are sent an event; without it they are."""
NEVER: Final = "never"
"""The value of `CONTEXT` of an event that no model is sent."""
ALWAYS: Final = "always"
"""Its value of an event that stays in recent context; the GM says so afterwards."""
SCENE: Final = "scene"
"""Key in `metadata` of a line with which a new scene begins."""


class Manner(StrEnum):
    """Manner of a reply without words."""

    ACTION = "action"
    """The character acts."""
    SILENT = "silent"
    """It does nothing that others notice; the text says so."""


AFTERTHOUGHT_SECONDS: Final = "unasked_after"
"""Key in `metadata` of an afterthought, for the seconds of the GM's idle time before it."""


class Role(StrEnum):
    """Author of an event."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The GM's text (`ordinal` 0), a reply to it or a line after it (1, 2, …) in one take of a prompt.

    A line is an event of role `system`: narration of the GM, a roll, a revealed secret. It has no addressee.
    Lines before the first prompt have prompt index 0, take 1, and ordinals from 0.
    """

    id: EventId
    session_id: SessionId
    prompt_index: int
    take: int = 1
    ordinal: int
    role: Role
    slot: Slot | None
    text: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    audience: Audience = EVERYONE
    """Those who witness it (design 13)."""
    created_at: datetime

    @property
    def place(self) -> tuple[int, int]:
        """The sort key of canon."""
        return self.prompt_index, self.ordinal

    @property
    def log_place(self) -> LogPlace:
        """The place in the log, which has every take."""
        return self.prompt_index, self.take, self.ordinal

    @property
    def summarised_with(self) -> int:
        """The prompt whose chunk summarises it: its own, or the next for a line or an afterthought.

        So memory that ends with a prompt never depends on whether one was added after that prompt.
        """
        return (
            self.prompt_index + 1 if self.role is Role.SYSTEM or self.is_afterthought else self.prompt_index
        )

    @property
    def is_added(self) -> bool:
        """Whether it was stored after the first reply to its prompt: a line, or another reply."""
        return self.role is Role.SYSTEM or self.ordinal > 1

    @property
    def is_afterthought(self) -> bool:
        """Whether it is an afterthought: a reply that the character added while the GM was idle."""
        return self.role is Role.AGENT and AFTERTHOUGHT_SECONDS in self.metadata

    @property
    def reveals(self) -> int | None:
        """The number of the secret that it reveals; None for every other event."""
        number = self.metadata.get(SECRET)
        return number if isinstance(number, int) and self.role is Role.SYSTEM else None

    @property
    def request_id(self) -> str:
        """The id of the request that it came from, as text; empty when unknown."""
        return str(self.metadata.get(REQUEST_ID, ""))

    @property
    def is_never_sent(self) -> bool:
        """Whether it is in no input of a model, even of those who witnessed it (design 16)."""
        return self.metadata.get(CONTEXT) == NEVER

    @property
    def is_always_sent(self) -> bool:
        """Whether it stays in the recent context of those who witnessed it (design 16)."""
        return self.metadata.get(CONTEXT) == ALWAYS

    @property
    def begins_scene(self) -> bool:
        """Whether it is a line with which a new scene begins."""
        return self.role is Role.SYSTEM and SCENE in self.metadata

    @property
    def is_silent(self) -> bool:
        """Whether it is the reply of a character that says nothing."""
        return self.role is Role.AGENT and self.metadata.get(MANNER) == Manner.SILENT

    @property
    def reason(self) -> str:
        """Why a reply has no words, for the GM alone; empty where that is unknown."""
        return str(self.metadata.get(REASON, "")) if self.role is Role.AGENT else ""

    @property
    def repeats(self) -> str:
        """The text that the reply repeats, in words; empty for every other event."""
        return str(self.metadata.get(REPEATS, ""))
