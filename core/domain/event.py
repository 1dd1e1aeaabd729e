"""An event is one entry of the append-only log that is the truth of tab 2 (design 2 and 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from core.domain.ids import EventId, SessionId
from core.domain.slot import Slot


class Role(StrEnum):
    """Who wrote an event."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The GM's text (`ordinal` 0) or a reply to it (1, 2, …) at one prompt index."""

    id: EventId
    session_id: SessionId
    prompt_index: int
    ordinal: int
    role: Role
    slot: Slot | None
    text: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    created_at: datetime
