"""Marks of lines in tab 2 that models are always or never sent (design 16)."""

from collections.abc import Mapping
from typing import Final

from core.domain.ids import LogPlace
from core.domain.session.session import Session
from core.domain.story.context_status import ContextStatus, Statuses, status_of
from core.domain.story.event import Event
from core.domain.story.transcript import Window
from storyengine_tui.screens.play.scene.hearing_view import mark_of

NEXT: Final = {
    ContextStatus.DEFAULT: ContextStatus.ALWAYS,
    ContextStatus.ALWAYS: ContextStatus.NEVER,
    ContextStatus.NEVER: ContextStatus.DEFAULT,
}
"""The next status after one press of the key."""
_SIGNS: Final = {ContextStatus.ALWAYS: "⟨always sent⟩ ", ContextStatus.NEVER: "⟨never sent⟩ "}


def marks_of(window: Window, session: Session, statuses: Statuses) -> Mapping[object, str]:
    """Return what is before each event in the margin, by its id: what is sent of it, and who heard it."""
    said = {one.place: one.status for one in statuses}
    shown = [piece.event for piece in window.pieces if piece.event is not None]
    return {
        event.id: mark
        for event in shown
        if (mark := _sign_of(event, said) + mark_of(event.audience, session))
    }


def said_of(event: Event, status: ContextStatus, boundary: int) -> str:
    """Return what is different now, in a sentence for the GM."""
    prompt = f"prompt {event.prompt_index:,}"
    what = f"Line {event.ordinal:,} after {prompt}" if event.ordinal else prompt.capitalize()
    match status:
        case ContextStatus.ALWAYS:
            return f"{what} is always sent to those who witnessed it."
        case ContextStatus.NEVER if event.summarised_with <= boundary:
            return f"{what} is sent to no model. Memory of it stays; you can edit that on tab 3."
        case ContextStatus.NEVER:
            return f"{what} is sent to no model, and not summarised."
        case ContextStatus.DEFAULT:
            return f"{what} is sent while it is recent, as usual."


def _sign_of(event: Event, said: Mapping[LogPlace, ContextStatus]) -> str:
    status = said.get(event.log_place)
    if status is None and not event.begins_scene:  # a line without words needs no sign
        status = status_of(event, ())
    return "" if status is None else _SIGNS.get(status, "")
