"""An event is one entry of the append-only log that tab 2 shows (design 2 and 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.domain.ids import EventId, SessionId
from core.domain.slot import Slot

REPEATS: Final = "repeats"
"""Key in `metadata` for what a reply only repeats, in words, where no better one came."""
REQUEST_ID: Final = "request_id"
"""The key under which `metadata` names the request."""


class Role(StrEnum):
    """Who wrote an event."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The GM's text (`ordinal` 0) or a reply to it (1, 2, …) in one take of a prompt (design 12)."""

    id: EventId
    session_id: SessionId
    prompt_index: int
    take: int = 1
    ordinal: int
    role: Role
    slot: Slot | None
    text: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    created_at: datetime

    @property
    def place(self) -> tuple[int, int]:
        """The sort key of canon."""
        return self.prompt_index, self.ordinal

    @property
    def request_id(self) -> str:
        """The id of the request that it came from, as text; empty when unknown."""
        return str(self.metadata.get(REQUEST_ID, ""))

    @property
    def repeats(self) -> str:
        """What the reply only repeats, in words; empty for every other event."""
        return str(self.metadata.get(REPEATS, ""))
