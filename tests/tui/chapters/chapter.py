"""A chapter to show: events with known ids and times, in several scripts."""

from datetime import UTC, datetime
from uuid import UUID

from core.domain.ids import EventId, SessionId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.domain.story.transcript import Window, render_window

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SESSION = SessionId(UUID(int=1))
REPLIES = (
    "The lamp is lit. I climb the stairs, one hand on the cold wall, and count: twenty-one steps, then the "
    "door with the brass plate that nobody has polished since the storm.",
    "私は灯台の階段をゆっくりと上り、冷たい壁に手を当てながら数えた。二十一段。そして真鍮の板のある扉。",
    "I say nothing.\n\tI look at the sea 👩‍👩‍👧, at the flag 🇩🇪, at the e\u0301te\u0301.\n\nThen I go.",
)


def session(prompts: int, boundary: int = 0) -> Session:
    """Return a session with seven characters that is `prompts` long."""
    return Session(
        id=SESSION,
        prompt_index=prompts,
        boundary=boundary,
        slots=tuple(Slot),
        created_at=NOON,
        updated_at=NOON,
    )


def prompt(index: int, *, reply: str | None = None) -> list[Event]:
    """Return the two events of one prompt; slots and replies take turns."""
    text = REPLIES[index % len(REPLIES)] if reply is None else reply
    return [
        _event(index, 0, Role.USER, None, f"What do you do when the light goes out for time number {index}?"),
        _event(index, 1, Role.AGENT, Slot((index - 1) % 7 + 1), text),
    ]


def events(prompts: int) -> list[Event]:
    """Return the events of `prompts` prompts."""
    return [event for index in range(1, prompts + 1) for event in prompt(index)]


def window(prompts: int, boundary: int = 0, limit: int | None = None) -> Window:
    """Return the window of a chapter of so many prompts."""
    return render_window(events(prompts), session(prompts, boundary), limit)


def _event(index: int, ordinal: int, role: Role, slot: Slot | None, text: str) -> Event:
    return Event(
        id=EventId(UUID(int=index * 10 + ordinal)),
        session_id=SESSION,
        prompt_index=index,
        ordinal=ordinal,
        role=role,
        slot=slot,
        text=text,
        created_at=NOON,
    )
