"""The top cell of tab 2: the transcript, who is writing, and how much of the window is used (design 9)."""

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static

from core.domain.event import Event
from core.domain.ids import RequestId, SessionId
from core.domain.limits import Limits
from core.domain.request import ReplyRequest
from core.domain.session import Session
from core.domain.transcript import Window, render_window
from storyengine_tui.screens.play.play_view import PlayView, doing
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.char_counter import CharCounter
from storyengine_tui.widgets.reading.transcript_view import TranscriptView

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
            self._drop_oldest(limit)

    def _drop_oldest(self, limit: int) -> None:
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


class MoreBelow(Static):
    """Says that the end is out of sight; a click goes there."""

    ALLOW_SELECT = False

    class Clicked(Message):
        """The GM wants to see the end."""

    def on_click(self, event: events.Click) -> None:
        """Ask for the end."""
        event.stop()
        self.post_message(self.Clicked())


class TranscriptPanel(Vertical):
    """Shows what was played, and the reply that streams."""

    view: var[PlayView | None] = var(None, init=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._played = PlayedEvents()
        self._live: RequestId | None = None
        self._drawn: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """Compose the transcript, and the line below it."""
        yield Static(id="scene", markup=False)
        yield TranscriptView(id="transcript")
        with Horizontal(id="transcript-foot"):
            yield BusyLine(id="busy")
            yield MoreBelow("↓ more (End)", id="more-below", markup=False)
            yield CharCounter(Limits().transcript, id="transcript-counter")

    def on_mount(self) -> None:
        """The end is in sight."""
        self.query_one(MoreBelow).visible = False

    @property
    def transcript(self) -> TranscriptView:
        """The view of the text."""
        return self.query_one(TranscriptView)

    def watch_view(self, before: PlayView | None, view: PlayView | None) -> None:
        """Say where the story begins above an empty transcript, and below it who is writing."""
        scene = view.scene if view else ""
        if scene != (before.scene if before else ""):
            line = self.query_one("#scene", Static)
            line.update(Content(scene))
            line.display = bool(scene)
        if _running(before) != _running(view):
            self._show_running(view)

    def load(self, played: Sequence[Event], session: Session) -> None:
        """Show these events, the newest of `session`, and nothing that streams."""
        self._played.load(played, session.id)
        self._live = None
        self.transcript.settle(self._window(session))

    def append(self, played: Sequence[Event], session: Session) -> None:
        """Show what was stored now; the reply that streamed is among it."""
        self._played.append(played, session.limits.transcript)
        window = self._window(session)
        if str(self._live) in {event.request_id for event in played}:
            self._live = None
            self.transcript.settle(window)
        else:
            self.transcript.show_window(window)

    def redraw(self, session: Session) -> None:
        """Show the boundary and the names as they are now."""
        if self._drawn != _drawn(session):
            self.transcript.show_window(self._window(session))

    def begin(self, request: ReplyRequest, session: Session) -> None:
        """A reply begins."""
        if request.session_id != self._played.session_id:
            return
        self._live = request.id
        speaker = session.name_of(request.slot)
        prompt = f"{self._played.next_index}) {request.text}"
        self.transcript.begin_reply(request.slot, speaker, prompt)

    def stream(self, request_id: RequestId, text: str) -> None:
        """The reply goes on."""
        if request_id == self._live:
            self.transcript.stream(text)

    def restart(self, request_id: RequestId) -> None:
        """The reply starts again."""
        if request_id == self._live:
            self.transcript.restart_reply()

    def discard(self, request_id: RequestId) -> None:
        """The reply will not come."""
        if request_id == self._live:
            self._live = None
            self.transcript.discard_reply()

    def _show_running(self, view: PlayView | None) -> None:
        """Say who is writing, since when, and how to stop it."""
        busy, running = self.query_one(BusyLine), view.running if view else None
        if view is None or running is None:
            busy.end()
            return
        style = f"$slot-{running.slot.colour}" if isinstance(running, ReplyRequest) else ""
        busy.begin(doing(view), style=style, cancel="Esc cancels" if view.is_writer else "")

    def expect(self, request_id: RequestId, expected: str) -> None:
        """Say how long it may take, if it still runs."""
        if self.view is not None and self.view.running is not None and self.view.running.id == request_id:
            self.query_one(BusyLine).expect(expected)

    def say_cancelling(self) -> None:
        """The GM stopped it; it is being settled."""
        self.query_one(BusyLine).begin("Cancelling", cancel="")

    def go(self, way: str) -> None:
        """Scroll `page_up`, `page_down`, or to the `end`, and follow it from there."""
        match way:
            case "page_up":
                self.transcript.action_page_up()
            case "page_down":
                self.transcript.action_page_down()
            case _:
                self.transcript.follow()

    @on(TranscriptView.MoreBelowChanged)
    def _show_more(self, event: TranscriptView.MoreBelowChanged) -> None:
        event.stop()
        self.query_one(MoreBelow).visible = event.has_more_below

    @on(MoreBelow.Clicked)
    def _go_to_end(self, event: MoreBelow.Clicked) -> None:
        event.stop()
        self.transcript.follow()

    def _window(self, session: Session) -> Window:
        self._drawn = _drawn(session)
        window = self._played.window(session)
        self.query_one("#transcript-counter", CharCounter).show(window.length, window.limit)
        return window


def _running(view: PlayView | None) -> tuple[RequestId, int] | None:
    return (view.running.id, view.running.attempts) if view and view.running else None


def _drawn(session: Session) -> tuple[object, ...]:
    return (session.id, session.boundary, session.roster)
