"""The chapter's screen: three tabs across the top, one pane each (design 10)."""

import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TabbedContent

from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from storyengine_tui.screens.chapter.early_input import EarlyKeys, EarlyPanel
from storyengine_tui.screens.chapter.feedback import Feedback
from storyengine_tui.screens.chapter.last_session import LastPanel
from storyengine_tui.screens.chapter.paused_banner import PausedBanner
from storyengine_tui.screens.chapter.session_listener import SessionListener
from storyengine_tui.screens.chapter.status_line import StatusLine
from storyengine_tui.screens.chapter.tab_pages import TITLES, PageTab, TabPages, apply_tall_class, home_tab
from storyengine_tui.screens.chapter.writer_banner import WriterBanner
from storyengine_tui.screens.models.permission.call_permission import ensure_callable, repair_after_failure
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import InvalidInputError, SessionTab
from storyengine_tui.textual_ext.painting.batched_screen import BatchedScreen
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.key_line import KeyLine

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle
    from core.engine.sync.subscriptions import Listener
    from storyengine_tui.bootstrap import Configuration
    from storyengine_tui.screens.setup.setup_pane import SetupPane

log = logging.getLogger(__name__)

TAB_KEYS = Binding.Group("Tabs")


class ChapterScreen(BatchedScreen[None]):
    """Shows one open session, and passes its notifications to the pages of the tabs."""

    HELP = "A chapter has three tabs: set up world and cast, play it, and have it written."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "tab('setup')", "World", group=TAB_KEYS, priority=True),
        Binding("f3", "tab('play')", "Play", group=TAB_KEYS, priority=True),
        Binding("f4", "tab('narrative')", "Chapter", group=TAB_KEYS, priority=True),
        Binding("ctrl+r", "start", "Retry", show=False),
        Binding("ctrl+t", "take_over", "Take over", show=False),
    ]

    class StartRequested(Message):
        """The GM wants the engine started again after it failed."""

    class LeaveAnywayRequested(Message):
        """The GM ends the program although some typed text cannot be stored."""

    AUTO_FOCUS = ""
    configuration: "Configuration"  # Set when the engine starts with it, before a session is opened.

    def __init__(self) -> None:
        super().__init__()
        self._early_panel = EarlyPanel(id="early", classes="grows")
        self._writer = WriterBanner(id="writer")
        self.paused = PausedBanner(id="paused")
        self._pages = TabPages(self)
        self.idle = self._pages.idle
        self.feedback = Feedback(self)
        self._listener = SessionListener(self, self._pages, self.feedback)
        self.early = EarlyKeys()
        self.held: list[tuple[str, events.Key | events.Paste]] = []
        """Keys and pastes for a tab, with its id, which come before its page is there."""
        self._shown_tab = ""
        """The tab whose page was focused last; empty while no page shows the session."""
        self._there: tuple[str, str] | None = None
        self._refused: list[RequestId] = []
        """Failed requests about which the GM is being asked."""
        self._has_had_field = False
        self.is_left_empty = False
        """Whether no chapter is open and none is coming: one could not be opened."""

    def compose(self) -> ComposeResult:
        """Compose the tabs, and around them what shows from the first paint on."""
        yield StatusLine(id="status-line", markup=False)
        with TabbedContent(id="tabs", initial="setup"):
            for tab, title in TITLES.items():
                yield PageTab(title, id=tab)
        yield KeyLine()

    async def mount_hidden(self) -> None:
        """Mount the widgets that are hidden at a start, which the first paint does not wait for."""
        if not self.is_attached:  # The app ended before.
            return
        hidden = (self._early_panel, *self.feedback.widgets, self._writer, self.paused)
        await self.mount(*hidden, before=self.query_one(KeyLine))
        apply_tall_class(self, self.size.height)

    def on_resize(self, event: events.Resize) -> None:
        """Set the heights of the visible page before its layout for the new size, and of the others after."""
        apply_tall_class(self, event.size.height, is_shown_only=True)
        self.call_after_refresh(apply_tall_class, self, event.size.height)
        for line in self.query(StatusLine):  # The first size may come before there is one.
            line.fit()

    @property
    def has_no_field_yet(self) -> bool:
        """Whether text that is typed now is meant for a page that does not exist yet."""
        return not (self._has_had_field or self.is_open or self.feedback.has_failed_to_start)

    @property
    def is_page_coming(self) -> bool:
        """Whether keys are meant for a page that is not there yet, or are not handed on to it yet."""
        return bool(self.held) or (self.is_open and not self._pages.has(self.active_tab))

    async def _hand_on(self) -> None:
        """Give a page what was typed before it was there, unless the GM went to another tab."""
        held, self.held = self.held, []
        for tab, event in held:
            if tab == self.active_tab:
                await self.app.on_event(event)

    def show_early_panel(self, panel: LastPanel | None) -> None:
        """Show the panel of tab 2 for typing before the session is open."""
        if panel is not None:
            self._pages.active = "play"
            self._early_panel.show_for(panel)
            self.show_early_text()

    def show_early_text(self) -> None:
        """Show what was typed before the first field existed."""
        self._early_panel.show_text(self.early.text)

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Focus `widget`; insert into the first text area what was typed before it existed."""
        super().set_focus(widget, scroll_visible, from_app_focus)
        self._has_had_field = self._has_had_field or widget is not None
        if widget is not None and self.early.text:
            from textual.widgets import TextArea

            if isinstance(widget, TextArea) and not widget.read_only:
                widget.move_cursor(widget.document.end)
                widget.insert(self.early.release())

    @on(SessionTab.Stored)
    def _note_stored(self, event: SessionTab.Stored) -> None:
        self.early.forget_stored()
        self.feedback.note_stored(is_complete=event.is_complete)

    @property
    def is_open(self) -> bool:
        """Whether a page shows the session; the others are filled when they are needed, or after a pause."""
        return self._pages.are_open

    @property
    def has_session(self) -> bool:
        """Whether a chapter is open, or its pages are being filled."""
        return self._session is not None

    @property
    def active_tab(self) -> str:
        """The id of the tab that shows."""
        return self._pages.active

    @property
    def _session(self) -> "SessionHandle | None":
        return self._listener.session

    @property
    def _asks_to_lock(self) -> bool:
        """Whether tab 1 is not locked yet and this window may lock it."""
        if (session := self._session) is None or session.is_read_only:
            return False
        # Of the snapshot: the notice of a lock may come after its dialog has closed.
        return home_tab(session.snapshot.session.state) == "setup"

    async def attach(self, session: "SessionHandle") -> None:
        """Show this session and follow its notifications, until `detach`."""
        listener = self._listener.open(session)
        home = home_tab(session.snapshot.session.state)
        self._pages.folder = self.configuration.paths.data
        await self._pages.attach(home, session)
        self._early_panel.display = False
        self.feedback.end_progress()
        self.feedback.hide_trouble()
        self._listener.show()
        self._pages.active = home
        # Not after a refresh: Textual would leave that to the screen on top, which may be closing, as the
        # library does once a chapter is open.
        self.call_later(self._begin_others, session, listener)
        if key := self.early.leads_to:
            self.early.leads_to = ""
            self.call_after_refresh(self.app.simulate_key, key)

    def _begin_others(self, session: "SessionHandle", listener: "Listener") -> None:
        if self._session is session:
            self._run(self._attach_others(session, listener), "attach")

    async def _attach_others(self, session: "SessionHandle", listener: "Listener") -> None:
        """Handle notifications, and attach the hidden pages when they are needed."""
        self._show_pane()
        self._run(self._listener.follow(listener), "hear")
        if self._there is not None:
            self.do_there(*self._there)
        async for tab in self._pages.attach_others(session):
            if tab == self.active_tab:
                self._show_pane()
            if self._there is not None:
                self.do_there(*self._there)
        if not self.app.is_headless:
            self._run(self._pages.prepare_others(lambda: self._session is session), "prepare")

    async def show_again(self) -> None:
        """Show the session as it is stored now."""
        if self._session is not None:
            await self._pages.attach_again(self._session)

    async def flush(self) -> None:
        """Store what is typed; raises StoryEngineError when that fails."""
        if self._session is not None:
            await self._pages.flush()

    async def flush_or_raise(self) -> None:
        """Store what is typed; raises StoryEngineError when that fails.

        Raises InvalidInputError, and focuses the field, if some of the text cannot be stored.
        """
        await self.flush()
        tab, why = await self._pages.focus_first_invalid()
        if why:
            self._pages.active = tab
            raise InvalidInputError(why)

    async def detach(self, *, insists: bool = True) -> None:
        """Store what is typed and detach from the session.

        With `insists`, raises StoryEngineError when that fails, and stays attached.
        """
        if self._session is None:
            return
        try:
            await self.flush()
        except (StoryEngineError, NoMatches) as error:  # A page has no fields left once the app has ended.
            if insists:
                raise
            log.error("typed text could not be stored: %s", error)
        if not self.is_attached:
            self._listener.close()
            return
        # A worker that still fills a page would write into pages that are being detached.
        for group in ("attach", "hear", "prepare"):
            self.workers.cancel_group(self, group)
        self._listener.close()
        self._there = None
        self.held.clear()
        self._shown_tab = ""
        self._pages.detach()
        if self.is_mounted:
            self.set_focus(None)
            self._listener.show_writer()
        self._has_had_field = False

    def _run(self, work: Coroutine[None, None, None], group: str) -> None:
        run_in_background(self, work, group=group, exclusive=True)

    def _ask(self, work: Coroutine[None, None, None], group: str) -> None:
        run_in_background(self, work, group=group, exclusive=True, failed=self.feedback.show_trouble)

    def action_tab(self, tab: str) -> None:
        """Go to a tab; the first time, tab 2 asks whether to lock what is written on tab 1."""
        if tab == "play" and self._asks_to_lock:
            self._ask(self._lock(), "lock")
        else:
            self._pages.active = tab
            self._show_pane()  # now: keys that came in one write with that of the tab are for its page

    def may_do(self, tab: str, action: str) -> bool:
        """Whether the page of a tab allows an action now."""
        page = self._pages.get_page(tab)
        _, name, parameters = parse(action)
        return page is not None and page.check_action(name, parameters) is True

    def do_there(self, tab: str, action: str) -> None:
        """Go to a tab and run an action of its page; once the page shows the session."""
        page = self._pages.get_page(tab)
        self._there = None if page is not None else (tab, action)
        if page is not None:
            self._pages.active = tab
            page.call_after_refresh(page.run_action, action)

    @on(SessionTab.ElsewhereWanted)
    def _go_elsewhere(self, event: SessionTab.ElsewhereWanted) -> None:
        if event.session_id is None:  # Otherwise the app opens that chapter first.
            self.do_there(event.tab, event.action)

    @on(TabbedContent.TabActivated, "#tabs")
    def _handle_tab(self, event: TabbedContent.TabActivated) -> None:
        """Show the page of the tab; a click on tab 2 asks whether to lock, as its key does."""
        if event.pane.id == "play" and self._asks_to_lock:
            self._pages.active = "setup"
            self.action_tab("play")
        else:
            self._show_pane()
        self.refresh_bindings()

    def _show_pane(self) -> None:
        """Focus the page of the tab that shows, once each time that the GM goes there."""
        tab = self.active_tab
        page = self._pages.get_page(tab)
        if page is not None and tab != self._shown_tab:
            self._shown_tab = tab
            page.on_tab_shown()
            self.app.call_later(self._hand_on)

    def on_setup_pane_lock_requested(self, event: "SetupPane.LockRequested") -> None:
        """Lock tab 1. Not by `@on`, which would import the page before the first paint."""
        self._ask(self._lock(is_confirmed=event.is_confirmed), "lock")

    async def _lock(self, *, is_confirmed: bool = False) -> None:
        """Lock tab 1 and go to tab 2; if it fails, tab 1 says why and stays as it was."""
        from storyengine_tui.screens.setup.lock_modal import LockModal

        session = self._session
        if session is None:
            return
        setup = cast("SetupPane", await self._pages.make("setup"))
        if not await setup.make_ready():
            return
        if not await ensure_callable(self.app, self.configuration):
            return
        question = LockModal(session, self.configuration, is_confirmed=is_confirmed)
        if await self.app.push_screen_wait(question):
            self._pages.active = "play"

    @on(SessionListener.RepairWanted)
    def _handle_refused_call(self, event: SessionListener.RepairWanted) -> None:
        self._refused.append(event.request_id)
        if len(self._refused) == 1:  # Otherwise the question is on the screen, and is about this one too.
            self._ask(self._repair(), "repair")

    async def _repair(self) -> None:
        """Ask for the missing precondition of failed calls, and retry the calls once it is met."""
        session = self._session
        try:
            if session is not None and await repair_after_failure(self.app, self.configuration, session):
                for request_id in dict.fromkeys(self._refused):
                    if any(one.id == request_id and one.has_failed for one in session.snapshot.requests):
                        await session.retry(request_id)
        finally:
            self._refused.clear()

    def action_take_over(self) -> None:
        """Take over writing as soon as the other window closes, or cancel that."""
        self._writer.toggle()

    def action_start(self) -> None:
        """Start the engine again."""
        self.post_message(self.StartRequested())

    @on(Banner.ActionChosen)
    def _perform(self, event: Banner.ActionChosen) -> None:
        match event.action:
            case "start":
                self.action_start()
            case "leave":
                self.call_later(self.run_action, "app.leave")
            case "leave-anyway":
                self.post_message(self.LeaveAnywayRequested())
            case "dismiss":
                self.feedback.hide_trouble()

    @on(SessionTab.CommandFailed)
    @on(WriterBanner.TakeOverFailed)
    def _show_failure(self, event: SessionTab.CommandFailed | WriterBanner.TakeOverFailed) -> None:
        self.feedback.show_trouble(event.error)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action == "tab":
            return True if self._session is not None else None
        if action == "start":
            return self.feedback.has_failed_to_start
        return action != "take_over" or self._writer.can_take_over
