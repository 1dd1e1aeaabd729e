"""The newest events of a session, as many as the transcript's window may show."""

from collections.abc import Sequence

from core.domain.event import Event
from core.domain.ids import SessionId
from core.domain.session import Session
from core.domain.transcript import Window, render_window

SPARE = 2
"""How many windows of text are kept before the oldest events are dropped."""


class PlayedEvents:
    """Grows at the end and never beyond a few windows, however long the chapter.

    It holds events of one session: those of another are not taken, and a window of another is empty.
    """

    def __init__(self) -> None:
        self.session_id: SessionId | None = None
        self._events: list[Event] = []
        self._length = 0

    @property
    def next_index(self) -> int:
        """The number that the next prompt will have."""
        return self._events[-1].prompt_index + 1 if self._events else 1

    def load(self, events: Sequence[Event], session_id: SessionId) -> None:
        """Take these, the newest of that session in order, instead."""
        self.session_id = session_id
        self._events = [event for event in events if event.session_id == session_id]
        self._length = sum(len(event.text) for event in self._events)

    def append(self, events: Sequence[Event], limit: int) -> None:
        """Append events newer than the last known one; drop those that no window of `limit` can show."""
        last = (self._events[-1].prompt_index, self._events[-1].ordinal) if self._events else (0, -1)
        ours = (event for event in events if event.session_id == self.session_id)
        new = [event for event in ours if (event.prompt_index, event.ordinal) > last]
        self._events += new
        self._length += sum(len(event.text) for event in new)
        if self._length > SPARE * limit:
            self._let_go(limit)

    def _let_go(self, limit: int) -> None:
        kept, length = len(self._events), 0
        while kept and length <= limit:
            kept -= 1
            length += len(self._events[kept].text)
        del self._events[:kept]
        self._length = length

    def window(self, session: Session) -> Window:
        """Return what is shown of them."""
        if session.id != self.session_id:
            self.load((), session.id)
        is_complete = not self._events or self._events[0].prompt_index == 1
        return render_window(self._events, session, is_complete=is_complete)
