"""Renders events as the transcript of tab 2, its window and its counter (design 9).

A transcript is rendered from events only and never parsed. Events are in the order of the log, by
`prompt_index` and then by `ordinal`; `in_order` sorts them. Lengths are in characters.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.domain.ids import SessionId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.text.graphemes import tail

SEPARATOR = "\n\n"
BOUNDARY_LINE = "-------------"
TRUNCATION_NOTICE = "(Earlier transcript truncated for display.)"

# Keeps the first two blank lines of a run as typed, including white space, and drops the rest.
_BLANK_RUN = re.compile(r"(\n(?:[^\S\n]*\n){2})(?:[^\S\n]*\n)+")


class PieceKind(StrEnum):
    """The kind of a transcript piece, which decides its colour."""

    GM = "gm"
    REPLY = "reply"
    SYSTEM = "system"
    BOUNDARY = "boundary"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class TranscriptPiece:
    """One paragraph of the transcript. `slot` is set for replies only: it gives the colour.

    `event` is None for the boundary line and the notice.
    """

    kind: PieceKind
    text: str
    slot: Slot | None = None
    event: Event | None = None


_LINE = TranscriptPiece(PieceKind.BOUNDARY, BOUNDARY_LINE)
_NOTICE = TranscriptPiece(PieceKind.NOTICE, TRUNCATION_NOTICE)


@dataclass(frozen=True, slots=True)
class Window:
    """The newest part of the transcript of one session that fits, oldest piece first."""

    session_id: SessionId
    pieces: tuple[TranscriptPiece, ...]
    limit: int

    @property
    def text(self) -> str:
        """The rendered text: what is shown, copied and counted."""
        return SEPARATOR.join(piece.text for piece in self.pieces)

    @property
    def length(self) -> int:
        """The number of characters of `text`."""
        return _length(self.pieces)


def counter_text(length: int, limit: int) -> str:
    """Return a counter such as `12,345/60,000`."""
    return f"{length:,}/{limit:,}"


def in_order(events: Iterable[Event]) -> list[Event]:
    """Return `events` in the order of the log."""
    return sorted(events, key=lambda event: (event.prompt_index, event.ordinal))


def collapse_blank_lines(text: str) -> str:
    """Return `text` with runs of blank lines reduced to two; the rest is as typed."""
    return _BLANK_RUN.sub(r"\1", text)


def prefix_of(event: Event, session: Session) -> str:
    """Return the prefix of an event: a number for the GM, a name for a character.

    The text of a silent reply goes on with the name: `Joss says nothing.`
    """
    if event.role is Role.USER:
        return f"{event.prompt_index}) "
    if event.role is Role.AGENT and event.slot is not None:
        return f"{session.name_of(event.slot)}{' ' if event.is_silent else ': '}"
    return ""


def render_event(event: Event, session: Session) -> str:
    """Return one event with its prefix, as the transcript shows it."""
    return prefix_of(event, session) + collapse_blank_lines(event.text)


def render_events(events: Iterable[Event], session: Session) -> str:
    """Return these events as models read them, without boundary line and notice."""
    return SEPARATOR.join(render_event(event, session) for event in in_order(events))


def render_all(events: Iterable[Event], session: Session) -> Window:
    """Return the complete transcript with its boundary line, for an export."""
    pieces: list[TranscriptPiece] = []
    ordered = in_order(events)
    for number, event in enumerate(ordered):
        pieces.append(_piece(event, session, render_event(event, session)))
        is_last_of_prompt = (
            number + 1 == len(ordered) or ordered[number + 1].prompt_index != event.prompt_index
        )
        if is_last_of_prompt and _is_at_boundary(event, session):
            pieces.append(_LINE)
    return Window(session.id, tuple(pieces), session.limits.transcript)


def render_window(
    events: Sequence[Event], session: Session, limit: int | None = None, *, is_complete: bool = True
) -> Window:
    """Return the newest events that fit into `limit` characters, including notices.

    `events` are the newest known, in order; `is_complete` says that no earlier ones exist. The default limit
    is the session's. Reads only the events that fit and the first that does not.
    """
    limit = session.limits.transcript if limit is None else limit
    groups: list[tuple[TranscriptPiece, ...]] = []
    used, line_is_due = 0, True
    for event in reversed(events):
        has_line = line_is_due and _is_at_boundary(event, session)
        line_is_due = line_is_due and not has_line
        group = (_piece(event, session, render_event(event, session)), *((_LINE,) if has_line else ()))
        cost = _length(group) + (len(SEPARATOR) if groups else 0)
        if used + cost > limit:
            return _truncated(groups, used, events[-1], session, limit)
        groups.append(group)
        used += cost
    if groups and not is_complete:
        return _truncated(groups, used, events[-1], session, limit)
    return Window(session.id, _oldest_first(groups), limit)


def _truncated(
    groups: list[tuple[TranscriptPiece, ...]], used: int, newest: Event, session: Session, limit: int
) -> Window:
    """Drop events to make room for the notice; when none is left, show the end of the newest."""
    notice_cost = len(TRUNCATION_NOTICE) + len(SEPARATOR)
    while groups and used + notice_cost > limit:
        used -= _length(groups.pop()) + (len(SEPARATOR) if groups else 0)
    pieces = (_NOTICE, *_oldest_first(groups)) if groups else _tail_of(newest, session, limit)
    return Window(session.id, pieces, limit)


def _tail_of(event: Event, session: Session, limit: int) -> tuple[TranscriptPiece, ...]:
    """Return the notice, the prefix and end of `event`, and the boundary line if it is due.

    If `limit` is too small for all of these, the event's text has precedence over notice, line and prefix.
    """
    body, prefix = collapse_blank_lines(event.text), prefix_of(event, session)
    after = (_LINE,) if _is_at_boundary(event, session) else ()
    shapes: tuple[tuple[tuple[TranscriptPiece, ...], str, tuple[TranscriptPiece, ...]], ...] = (
        ((_NOTICE,), prefix, after),
        ((), prefix, after),
        ((), prefix, ()),
        ((), "", ()),
    )
    for before_it, lead, after_it in shapes:
        around = _length((*before_it, *after_it)) + (len(SEPARATOR) if before_it or after_it else 0)
        room = limit - around - len(lead)
        if room > 0:
            return (*before_it, _piece(event, session, lead + tail(body, room)), *after_it)
    return ()


def _piece(event: Event, session: Session, text: str) -> TranscriptPiece:
    if event.session_id != session.id:
        raise ValueError("a transcript holds the events of one session")
    if event.role is Role.AGENT:
        return TranscriptPiece(PieceKind.REPLY, text, event.slot, event)
    return TranscriptPiece(PieceKind.GM if event.role is Role.USER else PieceKind.SYSTEM, text, None, event)


def _is_at_boundary(event: Event, session: Session) -> bool:
    return 0 < session.boundary == event.prompt_index


def _oldest_first(groups: Sequence[tuple[TranscriptPiece, ...]]) -> tuple[TranscriptPiece, ...]:
    return tuple(piece for group in reversed(groups) for piece in group)


def _length(pieces: Sequence[TranscriptPiece]) -> int:
    return sum(len(piece.text) for piece in pieces) + len(SEPARATOR) * max(0, len(pieces) - 1)
