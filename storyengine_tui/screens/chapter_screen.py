"""The chapter's screen: three tabs across the top, one pane each (design 10)."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static, TabbedContent, TabPane
from textual.worker import Worker

from core.engine.listeners import Listener
from core.engine.notices import (
    EventsAppended,
    Notice,
    RequestFailed,
    SessionChanged,
    SessionReplaced,
    StorageRecovered,
    StorageTrouble,
    WriterChanged,
)
from core.engine.open_session import OpenSession
from core.errors import ErrorCode, StoryEngineError
from core.event import Event
from core.ids import RequestId, SessionId
from core.session import SessionState, title_from
from storyengine_tui.screens.engine_pane import EnginePane
from storyengine_tui.screens.narrative_pane import NarrativePane
from storyengine_tui.screens.play_pane import PlayPane
from storyengine_tui.screens.setup_pane import SetupPane
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone
from storyengine_tui.widgets.busy_line import BusyLine

HOME_TABS = {
    SessionState.DRAFT_TAB1: "setup",
    SessionState.LOCKING: "setup",
    SessionState.ENDED: "narrative",
    SessionState.NARRATING: "narrative",
}
STANDING = {
    SessionState.DRAFT_TAB1: "being set up",
    SessionState.LOCKING: "being locked",
    SessionState.ACTIVE: "being played",
    SessionState.SUMMARIZING: "being summarised",
    SessionState.ENDED: "ended",
    SessionState.NARRATING: "being written",
    SessionState.RESETTING: "being reset",
}
"""What a session's state is called where the GM reads it."""
POLL_SECONDS = 3.0
"""How often a window that waits for the writer to go asks whether it is gone."""


class ChapterScreen(Screen[None]):
    """Shows one open session; hands its notices to the panes."""

    CSS_PATH = "chapter_screen.tcss"
    HELP = "A chapter has three tabs: set up world and cast, play it, and have it written."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "tab('setup')", "World"),
        Binding("f3", "tab('play')", "Play"),
        Binding("f4", "tab('narrative')", "Chapter"),
    ]

    @dataclass
    class StartRequested(Message):
        """The GM wants the engine started again after it failed."""

    @dataclass
    class LockRequested(Message):
        """The GM goes on to tab 2: world, chapter and cast are to be locked first."""

        is_confirmed: bool = False

    @dataclass
    class ConsentNeeded(Message):
        """A call failed because text may not go to its address yet."""

        request_id: RequestId

    @dataclass
    class Replaced(Message):
        """The session was reset; another goes on in its place."""

        session_id: SessionId

    @dataclass
    class Played(Message):
        """A prompt and its reply are stored."""

        events: tuple[Event, ...]

    @dataclass
    class Retitled(Message):
        """The chapter has another title."""

        title: str

    def __init__(self) -> None:
        super().__init__()
        self._session: OpenSession | None = None
        self._listening = ExitStack()
        self._hearing: Worker[None] | None = None
        self._state: SessionState | None = None
        self._title = ""

    def compose(self) -> ComposeResult:
        """Compose the tabs, and above them what concerns all of them."""
        yield Static(id="standing", markup=False)
        yield BusyLine(id="progress")
        yield Banner(id="trouble")
        yield Banner(id="writer")
        with TabbedContent(id="tabs", initial="setup"):
            with TabPane("1 World", id="setup"):
                yield SetupPane()
            with TabPane("2 Play", id="play"):
                yield PlayPane()
            with TabPane("3 Chapter", id="narrative"):
                yield NarrativePane()
        yield Footer()

    def on_mount(self) -> None:
        """Nothing can be typed before there is a session to store it in."""
        self.query_one("#tabs").disabled = True

    @property
    def panes(self) -> Iterator[EnginePane]:
        """The three panes, in order."""
        return iter(self.query(EnginePane))

    @property
    def active_tab(self) -> str:
        """The id of the tab that shows."""
        return self.query_one("#tabs", TabbedContent).active

    def show_progress(self, what: str) -> None:
        """Say what is being waited for; nothing can be typed meanwhile."""
        self.query_one("#trouble", Banner).hide()
        progress = self.query_one("#progress", BusyLine)
        progress.begin(what, cancel="")
        progress.display = True

    def end_progress(self) -> None:
        """Wait no more."""
        progress = self.query_one("#progress", BusyLine)
        progress.end()
        progress.display = False

    def show_start_failure(self, error: StoryEngineError) -> None:
        """Say why nothing can be opened, with Retry."""
        self.end_progress()
        self.show_trouble(error, BannerAction("start", "Retry", "^r"))

    def show_trouble(self, error: StoryEngineError, *actions: BannerAction) -> None:
        """Say what went wrong, in the flow of the page."""
        banner = self.query_one("#trouble", Banner)
        banner.show(
            error.message, hint=error.hint, actions=actions or (BannerAction("dismiss", "Dismiss", "Esc"),)
        )
        self.refresh_bindings()

    async def attach(self, session: OpenSession) -> None:
        """Show this session, and hear of what happens in it, until `detach`."""
        self._session = session
        self._state = session.snapshot.session.state
        listener = self._listening.enter_context(session.listen())
        for pane in self.panes:
            await pane.attach(session)
        self.query_one("#tabs").disabled = False
        self.end_progress()
        self._show_writer()
        self._show_standing()
        self._hearing = self.run_worker(self._hear(listener), name="hear", group="hear", exit_on_error=False)
        self._open_tab(HOME_TABS.get(self._state, "play"))
        self.refresh_bindings()

    async def detach(self) -> None:
        """Store what is typed and let go of the session; raises StoryEngineError when that fails."""
        if self._session is None:
            return
        for pane in self.panes:
            await pane.flush()
        self._listening.close()
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None
        for pane in self.panes:
            pane.detach()
        self._session = None
        self.query_one("#tabs").disabled = True
        self.query_one("#writer", Banner).hide()

    async def _hear(self, listener: Listener) -> None:
        async for notice in listener:
            await self._heed(notice)
            for pane in self.panes:
                pane.hear(notice)

    async def _heed(self, notice: Notice) -> None:
        match notice:
            case SessionChanged(session):
                has_ended = self._state is not SessionState.ENDED and session.state is SessionState.ENDED
                was_played = self._state in (SessionState.ACTIVE, SessionState.SUMMARIZING)
                self._state = session.state
                self._show_standing()
                if has_ended and was_played:
                    self._open_tab("narrative")
            case StorageTrouble(error):
                self.show_trouble(error)
            case StorageRecovered():
                self.query_one("#trouble", Banner).hide()
            case WriterChanged(holder):
                self._show_writer()
                if holder is None and self._session is not None:
                    for pane in self.panes:
                        await pane.attach(self._session)
            case SessionReplaced(new_id):
                self.post_message(self.Replaced(new_id))
            case RequestFailed(request, error) if error.code is ErrorCode.CONSENT_REQUIRED:
                self.post_message(self.ConsentNeeded(request.id))
            case EventsAppended(events):
                self.post_message(self.Played(events))
            case _:
                pass

    def _show_standing(self) -> None:
        if self._session is None:
            return
        snapshot = self._session.snapshot
        session = snapshot.session
        title = title_from(session.title, snapshot.tab1.chapter, snapshot.tab1.world)
        self.query_one("#standing", Static).update(Content(f"{title} · {STANDING[session.state]}"))
        if title != self._title:
            self._title = title
            self.post_message(self.Retitled(title))
        self.refresh_bindings()

    def _show_writer(self, *, is_waiting: bool = False) -> None:
        banner = self.query_one("#writer", Banner)
        if self._session is None or not self._session.is_read_only:
            banner.hide()
            return
        holder = self._session.holder
        who = (
            f"{holder.label}, since {holder.since.astimezone():%H:%M on %d %B}"
            if holder
            else "another window"
        )
        sentence = f"Another window writes in this chapter ({who}); here you read along."
        if is_waiting:
            action = BannerAction("stop-waiting", "Stop waiting")
            hint = "It is taken over as soon as that window is gone."
        else:
            action = BannerAction("take-over", "Take over when that window is gone", "^t")
            hint = ""
        banner.show(sentence, hint=hint, actions=(action,), tone=Tone.INFO)

    def action_tab(self, tab: str) -> None:
        """Go to a tab; the first time, tab 2 asks whether to lock what is written on tab 1."""
        if tab == "play" and self._is_draft:
            self.post_message(self.LockRequested())
            return
        self._open_tab(tab)

    @property
    def _is_draft(self) -> bool:
        return self._state in (SessionState.DRAFT_TAB1, SessionState.LOCKING)

    def _open_tab(self, tab: str) -> None:
        self.query_one("#tabs", TabbedContent).active = tab

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim the tabs until a session is open."""
        if action == "tab":
            return True if self._session is not None else None
        return True
