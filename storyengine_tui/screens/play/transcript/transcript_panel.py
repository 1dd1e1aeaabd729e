"""The top cell of tab 2: the transcript, who is writing, and how full the window is (design 9)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive, var
from textual.widgets import Button, Static

from core.domain.bank.item import Item
from core.domain.ids import RequestId
from core.domain.requests.request import BackgroundRequest, ReplyRequest
from core.domain.session.limits import Limits
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.silence import before_marks
from core.domain.story.transcript import Window, collapse_blank_lines
from core.storage.snapshot import Snapshot
from storyengine_tui.screens.play.play_view import PlayView, numbered, progress_text
from storyengine_tui.screens.play.scene.hearing_view import mark_of
from storyengine_tui.screens.play.scene.sent_view import marks_of
from storyengine_tui.screens.play.scene.viewpoint_line import ViewpointLine
from storyengine_tui.screens.play.takes_view import TakeButton
from storyengine_tui.screens.play.transcript.opening_scene import OpeningScene
from storyengine_tui.screens.play.transcript.played_events import PlayedEvents, QuoteMarks
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.capped_text_area import CharCounter
from storyengine_tui.widgets.reading.transcript_lines import SourcePos
from storyengine_tui.widgets.reading.transcript_view import NO_MARKS, TranscriptView
from storyengine_tui.widgets.text_line import show_line
from storyengine_tui.widgets.widget_message import ActionRequested


@dataclass(slots=True)
class StreamedReply:
    """The request of a reply, and what has come of it."""

    request: ReplyRequest | BackgroundRequest
    has_marks: bool
    """Whether it may be a reply without words: its marks and its reason are not shown."""
    text: str = ""

    @classmethod
    def of(cls, request: ReplyRequest | BackgroundRequest, session: Session) -> "StreamedReply":
        """Return a reply of which nothing has come yet."""
        may_be_silent = isinstance(request, ReplyRequest) and not request.continues
        return cls(request, may_be_silent and request.slot in session.may_be_silent)

    def add(self, text: str) -> str:
        """Add the text that has arrived, and return the part of it that is shown."""
        if not self.has_marks:
            self.text += text
            return text
        before = before_marks(self.text)
        self.text += text
        return before_marks(self.text)[len(before) :]


class MoreBelow(Static):
    """Says that the end is out of view; a click scrolls there."""

    ALLOW_SELECT = False


class TakeLine(Horizontal, can_focus_children=False):
    """Takes no room, and has no widgets, while there is one take and nothing is undone.

    Each button has a key, so none is on the way from a panel to the transcript.
    """

    view: var[PlayView | None] = var(None, init=False)
    content: reactive[tuple[str, tuple[TakeButton, ...]]] = reactive(("", ()), recompose=True)
    """The line and its buttons."""

    def compose(self) -> ComposeResult:
        """Compose the line and its buttons, if there is something to say."""
        line, buttons = self.content
        if not line:
            return
        yield Static(Content(line), classes="takes--line")
        for button in buttons:
            yield Button(button.label, name=button.action, compact=True, disabled=not button.is_possible)

    def watch_view(self, view: PlayView | None) -> None:
        """Show the takes; where none can be chosen or asked for any more there are no buttons."""
        if view is None:
            return
        self.content = (view.takes.line, view.takes.buttons if view.may_change_takes else ())
        self.display = bool(view.takes.line)

    @on(Button.Pressed)
    def _request(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.name:
            self.post_message(ActionRequested(event.button.name))


class TranscriptPanel(Vertical):
    """Shows what was played, and the reply that streams."""

    view: var[PlayView | None] = var(None, init=False)

    transcript = getters.query_one(TranscriptView)
    _more = getters.query_one(MoreBelow)
    _busy = getters.query_one(BusyLine)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._played = PlayedEvents()
        self._live: StreamedReply | None = None
        """The reply that streams; it is shown again where another view is chosen."""
        self._hidden_from: int | None = None
        """The prompt of which another take streams; the take that it has is hidden meanwhile."""
        self.quotes = QuoteMarks()
        """Words of the events that are kept as quotes."""
        self._drawn: tuple[object, ...] = ()
        """Result of `_drawn` for the visible transcript."""

    def compose(self) -> ComposeResult:
        """Compose the transcript, and the line below it."""
        yield ViewpointLine(id="viewpoint")
        yield OpeningScene(id="scene")
        yield TranscriptView(id="transcript")
        yield TakeLine(id="takes").data_bind(TranscriptPanel.view)
        with Horizontal(id="transcript-foot"):
            yield BusyLine(id="busy")
            yield Static(id="spent", markup=False)
            yield MoreBelow("↓ more (End)", id="more-below", markup=False)
            yield CharCounter(Limits().transcript, id="transcript-counter")

    def on_mount(self) -> None:
        """Hide the hint that the end is out of view."""
        self._more.visible = False

    def watch_view(self, before: PlayView | None, view: PlayView | None) -> None:
        """Show the opening scene above an empty transcript, and who is writing below it."""
        opening = self.query_one(OpeningScene)
        opening.scene, opening.to_do = (view.scene, view.to_do) if view else ("", "")
        if (before.spent if before else "") != (view.spent if view else ""):
            self.show_spent(view.spent if view else "")
        if _running(before) != _running(view):
            self._show_running(view)
        if view is not None and (before.statuses if before else ()) != view.statuses:
            self._show(view.session)
        if self.viewpoint is not None and view is not None:
            self._show_viewpoint(view.session)

    def show_spent(self, text: str) -> None:
        """Show what the chapter has cost; nothing while no money was spent."""
        show_line(self, "#spent", text)

    @property
    def viewpoint(self) -> Slot | None:
        """The character whose view of the story shows; None for everything."""
        return self._played.viewpoint

    @property
    def has_private(self) -> bool:
        """Whether the transcript has, or had, something that not everyone witnessed."""
        return self._played.has_private

    def load(self, played: Sequence[Event], session: Session, viewpoint: Slot | None = None) -> None:
        """Show these events without a streaming reply: the newest of `session`, or of a character's view."""
        if viewpoint is None:
            self._played.load(played, session.id)
        else:
            self._played.load_view(played, session, viewpoint)
        self._show_viewpoint(session)
        self._end_live()
        self._settle(session)

    def switch_view(self, played: Sequence[Event], session: Session, viewpoint: Slot | None) -> None:
        """Show the story, or a character's view of it; a reply goes on streaming if it is part of that."""
        live = self._live
        self.load(played, session, viewpoint)
        if live is not None and not _is_among(live, played):
            self.begin(live.request, session)
            self.stream(live.request.id, live.text)

    def _show_viewpoint(self, session: Session) -> None:
        """Say whose view the transcript shows, if it does not show everything."""
        line, slot = self.query_one(ViewpointLine), self.viewpoint
        if slot is None:
            line.show("", "", is_left_by_escape=False)
        else:
            is_idle = self.view is None or self.view.running is None
            line.show(numbered(session, slot), f"$slot-{slot.colour}", is_left_by_escape=is_idle)

    def change(self, first: int, snapshot: Snapshot) -> bool:
        """Show canon after a change from prompt `first` on; return False if it must be read again."""
        is_complete = self._played.replace(first, snapshot)
        if is_complete:
            self._end_live()
            self._settle(snapshot.session)
        return is_complete

    @property
    def marked_event(self) -> Event | None:
        """The event at the cursor, or at the end of the selection, of the transcript."""
        key = self.transcript.selection.key
        return None if key is None else self._played.event_of(key)

    @property
    def marked_prompt(self) -> int | None:
        """The number of its prompt."""
        return None if (event := self.marked_event) is None else event.prompt_index

    @property
    def reasoned(self) -> Event | None:
        """The reply without words that is marked, or else the newest, if the GM may read why."""
        return self._played.reasoned(self.marked_prompt)

    @property
    def marked_words(self) -> tuple[Event, str] | None:
        """The event with the cursor or the selection, and the words of it that are selected, or all of them.

        None without a cursor, or if more than one event is selected.
        """
        view = self.transcript
        event = self._played.event_of(view.selection.key)
        if event is None:
            return None
        selected = view.selection.text_in_one
        return None if selected is None else (event, selected or event.text)

    def show_quotes(self, quotes: Iterable[Item], session: Session) -> None:
        """Mark the words of these quotes, and of no others."""
        if self.quotes.learn(quotes):
            self._show(session)

    def show_place(self, prompt_index: int, ordinal: int, start: int, end: int) -> bool:
        """Select words of an event; return whether the transcript has it."""
        event, view = self._played.event_at(prompt_index, ordinal), self.transcript
        number = None if event is None else view.lines.paragraph_with(event.id)
        if event is None or number is None:
            return False
        # Blank lines that the transcript leaves out move the words; its beginning may be cut.
        shift = len(view.lines.paragraphs[number].text) - len(collapse_blank_lines(event.text))
        begin, stop = (
            SourcePos(number, max(0, shift + len(collapse_blank_lines(event.text[:place]))))
            for place in (start, end)
        )
        view.mark_at(begin, stop)
        return True

    def append(self, played: Sequence[Event], session: Session) -> None:
        """Add events that were stored; they may include the reply that streamed."""
        self._played.append(played, session.limits.transcript)
        if self._live is not None and _is_among(self._live, played):
            self._end_live()
            self._settle(session)
        else:
            self._show(session)

    def redraw(self, session: Session) -> None:
        """Redraw the transcript if the memory boundary or a name has changed."""
        if self._drawn != _drawn(session):
            self._show(session)

    def begin(self, request: ReplyRequest | BackgroundRequest, session: Session) -> None:
        """Begin a reply; one for another take replaces the newest, and what continues or adds follows it."""
        if request.session_id != self._played.session_id or request.slot is None:
            return
        self._live = StreamedReply.of(request, session)
        if self.viewpoint is not None and self.viewpoint not in request.audience:
            return
        slot, mark, prompt = request.slot, mark_of(request.audience, session), ""
        if isinstance(request, ReplyRequest) and not (request.continues or request.follows):
            index = self._played.next_index
            if request.prompts is not None:
                index = self._hidden_from = request.prompts.first
                self._show(session)
            prompt = f"{index}) {request.text}"
        self.transcript.begin_reply(slot, session.name_of(slot), prompt, mark)

    def stream(self, request_id: RequestId, text: str) -> None:
        """Append text to the reply."""
        live = self._live_of(request_id)
        if live is not None and (shown := live.add(text)):
            self.transcript.stream(shown)

    def restart(self, request_id: RequestId) -> None:
        """Clear the reply: its call is made again."""
        if (live := self._live_of(request_id)) is not None:
            live.text = ""
            self.transcript.restart_reply()

    def discard(self, request_id: RequestId, session: Session) -> None:
        """Remove the reply: its request has ended without it. A take that was hidden shows again."""
        if self._live_of(request_id) is None:
            return
        was_hidden = self._hidden_from is not None
        self._end_live()
        self.transcript.discard_reply()
        if was_hidden:
            self._show(session)

    def _end_live(self) -> None:
        self._live = self._hidden_from = None

    def _live_of(self, request_id: RequestId) -> StreamedReply | None:
        """Return the reply that streams, if it is that of this request."""
        return self._live if self._live is not None and self._live.request.id == request_id else None

    def _show_running(self, view: PlayView | None) -> None:
        """Say who is writing, since when, and how to cancel it."""
        running = view.running if view else None
        if view is None or running is None:
            self._busy.end()
            return
        style = f"$slot-{running.slot.colour}" if isinstance(running, ReplyRequest) else ""
        self._busy.begin(progress_text(view), style=style, cancel="Esc cancels" if view.is_writer else "")

    def expect(self, request_id: RequestId, expected: str) -> None:
        """Show how long a request may take, if it is still running."""
        if self.view is not None and self.view.running is not None and self.view.running.id == request_id:
            self._busy.expect(expected)

    def say_cancelling(self) -> None:
        """Say that the running request is being cancelled."""
        self._busy.begin("Cancelling", cancel="")

    def go(self, way: str) -> None:
        """Scroll `page_up`, `page_down`, or to the `end` and follow new text."""
        match way:
            case "page_up" | "page_down":
                self.transcript.action_scroll_by_key(way.replace("_", ""))
            case _:
                self.transcript.follow()

    @on(TranscriptView.MoreBelowChanged)
    def _show_more(self, event: TranscriptView.MoreBelowChanged) -> None:
        self._more.visible = event.has_more_below

    @on(events.Click, "#more-below")
    def _go_to_end(self) -> None:
        self.transcript.follow()

    def _show(self, session: Session) -> None:
        """Show the window, and below it what streams, if anything does."""
        window = self._window(session)
        self.transcript.show_window(window, self._marks(window, session), self.quotes.spans)

    def _settle(self, session: Session) -> None:
        """Show the window in place of the streamed text."""
        window = self._window(session)
        self.transcript.settle(window, self._marks(window, session), self.quotes.spans)

    def _window(self, session: Session) -> Window:
        self._drawn = _drawn(session)
        window = self._played.window(session, self._hidden_from)
        self.query_one("#transcript-counter", CharCounter).show(window.length, window.limit)
        return window

    def _marks(self, window: Window, session: Session) -> Mapping[object, str]:
        """Return what stands in the margin before events, by their ids."""
        statuses = self.view.statuses if self.view else ()
        if not (statuses or self._played.has_private or self._played.has_hidden):
            return NO_MARKS
        return marks_of(window, session, statuses)


def _running(view: PlayView | None) -> tuple[RequestId, int] | None:
    return (view.running.id, view.running.attempts) if view and view.running else None


def _is_among(live: StreamedReply, played: Sequence[Event]) -> bool:
    """Whether the reply that streamed is stored."""
    return str(live.request.id) in {event.request_id for event in played}


def _drawn(session: Session) -> tuple[object, ...]:
    return (session.id, session.boundary, session.roster)
