"""The events that tab 2 has at hand, of which the transcript shows a window (design 9)."""

from collections.abc import Iterable, Sequence

from core.domain.bank.evidence import find_words
from core.domain.bank.item import Item
from core.domain.ids import EventId, LogPlace, SessionId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.transcript import Window, render_window
from core.storage.snapshot import Snapshot

SPARE = 2
"""Number of windows of text that are kept before the oldest events are dropped."""


class PlayedEvents:
    """The newest events of one session; memory is bounded to a few windows, however long the chapter is.

    Events of another session are ignored, and the window of another session is empty.
    """

    def __init__(self) -> None:
        self.session_id: SessionId | None = None
        self.viewpoint: Slot | None = None
        """The character that has witnessed all of these events; None for everything."""
        self.has_private = False
        """Whether there was an event that not everyone witnessed."""
        self.has_hidden = False
        """Whether there was an event that was stored as one that no model is sent."""
        self._events: list[Event] = []
        self._newest = 0
        """The number of the newest prompt, also if the character has not witnessed it."""
        self._is_whole = False
        """Whether nothing that the character witnessed is missing, though its first event is a later one."""

    @property
    def next_index(self) -> int:
        """The number that the next prompt will have."""
        return self._newest + 1

    def load(self, events: Sequence[Event], session_id: SessionId) -> None:
        """Replace the events by these, the newest of a session in order."""
        if session_id != self.session_id:
            self.has_private = self.has_hidden = False
        self.session_id, self.viewpoint, self._is_whole = session_id, None, False
        self._events = [event for event in events if event.session_id == session_id]
        self._newest = self._events[-1].prompt_index if self._events else 0
        self._note_private(self._events)

    def load_view(self, events: Sequence[Event], session: Session, viewpoint: Slot) -> None:
        """Replace the events by these, the newest that a character of `session` has witnessed."""
        self.load(events, session.id)
        self.viewpoint, self._newest = viewpoint, session.prompt_index
        self._is_whole = sum(len(event.text) for event in events) <= session.limits.transcript

    def _note_private(self, events: Sequence[Event]) -> None:
        self.has_private = self.has_private or any(not event.audience.is_everyone for event in events)
        self.has_hidden = self.has_hidden or any(event.is_never_sent for event in events)

    def _witnessed(self, events: Sequence[Event]) -> list[Event]:
        """Return those of `events` that are shown, after noting all of them."""
        self._note_private(events)
        if events:
            self._newest = events[-1].prompt_index
        return [event for event in events if self.viewpoint is None or self.viewpoint in event.audience]

    def append(self, events: Sequence[Event], limit: int) -> None:
        """Append events newer than the last one; drop those that a window of `limit` cannot show."""
        last = (self._events[-1].prompt_index, self._events[-1].ordinal) if self._events else (0, -1)
        ours = [event for event in events if event.session_id == self.session_id and event.place > last]
        self._events += self._witnessed(ours)
        if sum(len(event.text) for event in self._events) > SPARE * limit:
            first, length = len(self._events), 0
            while first and length <= limit:
                first -= 1
                length += len(self._events[first].text)
            del self._events[:first]
            self._is_whole = False

    def replace(self, first: int, snapshot: Snapshot) -> bool:
        """Replace everything from prompt `first` on by current canon; return whether it was possible.

        It is not if the snapshot does not reach back that far, or if the kept events may not fill the window.
        """
        session = snapshot.session
        known = snapshot.recent[0].prompt_index if snapshot.recent else session.prompt_index + 1
        kept = [event for event in self._events if event.prompt_index < first]
        is_kept_whole = not kept or self._begins_the_story(kept)
        is_known = first >= known and (bool(kept) or first == 1)
        if session.id != self.session_id or not is_known:
            return False
        self._newest = first - 1
        self._events = [
            *kept,
            *self._witnessed([one for one in snapshot.recent if one.prompt_index >= first]),
        ]
        return is_kept_whole or sum(len(event.text) for event in self._events) > session.limits.transcript

    def reasoned(self, prompt: int | None) -> Event | None:
        """Return the reply to a prompt if it has a reason for having no words; without one, the newest."""
        given = [event for event in self._events if event.reason and prompt in (None, event.prompt_index)]
        return given[-1] if given and self.viewpoint is None else None

    def event_of(self, event_id: object) -> Event | None:
        """Return the event with an id, if it is one of these."""
        return next((event for event in self._events if event.id == event_id), None)

    def event_at(self, prompt_index: int, ordinal: int) -> Event | None:
        """Return the event at a place of canon, if it is one of these."""
        return next((event for event in self._events if event.place == (prompt_index, ordinal)), None)

    def window(self, session: Session, before: int | None = None) -> Window:
        """Return the window of the transcript that is shown; with `before`, without prompts from that on."""
        if session.id != self.session_id:
            self.load((), session.id)
        events = self._events
        if before is not None:
            events = [event for event in events if event.prompt_index < before]
        is_complete = not self._events or self._begins_the_story(self._events)
        return render_window(events, session, is_complete=is_complete)

    def _begins_the_story(self, events: Sequence[Event]) -> bool:
        """Whether nothing comes before `events`; lines before the first prompt have index 0."""
        return self._is_whole or events[0].prompt_index <= 1


Parts = tuple[tuple[int, int], ...]


class QuoteMarks:
    """The words of quotes, by the place of the event that they are in."""

    def __init__(self) -> None:
        self._words: dict[LogPlace, tuple[str, ...]] = {}
        self._found: dict[tuple[EventId, str], Parts] = {}

    def learn(self, quotes: Iterable[Item]) -> bool:
        """Know these quotes and no others; return whether anything is different."""
        words: dict[LogPlace, tuple[str, ...]] = {}
        for quote in quotes:
            for one in quote.evidence:
                words[one.place] = (*words.get(one.place, ()), one.words)
        is_new = words != self._words
        if is_new:
            self._words = words
            self._found.clear()
        return is_new

    def spans(self, event: Event, text: str) -> Parts:
        """Return which parts of `text`, the event as it is shown, are quotes: in order, without overlaps."""
        words = self._words.get(event.log_place) if self._words else None
        if words is None:
            return ()
        key = (event.id, text)
        if key not in self._found:
            self._found[key] = _joined(part for one in words if (part := find_words(text, one)) is not None)
        return self._found[key]


def _joined(parts: Iterable[tuple[int, int]]) -> Parts:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(parts):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return tuple(joined)
