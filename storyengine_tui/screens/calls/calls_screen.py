"""The calls of models: what waits, what was asked and answered, and what it cost (design 17 and 18)."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.widgets import Static

from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.calls.calls_view import CallsView
from storyengine_tui.screens.calls.history_view import HistoryView
from storyengine_tui.screens.calls.money_view import MoneyView
from storyengine_tui.screens.calls.queue.queue_view import QueueView
from storyengine_tui.widgets.banner import Banner, BannerAction
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher

QUEUE, HISTORY, MONEY = "queue", "history", "money"
ENTRIES: Final = (
    PanelEntry(QUEUE, 1, "Queue"),
    PanelEntry(HISTORY, 2, "History"),
    PanelEntry(MONEY, 3, "Money"),
)


MOST_EARLY: Final = 64
"""Keys that are kept while a view is read."""


class CallsScreen(OverlayScreen[None]):
    """Shows one of three views, which are made when they are first shown; Esc goes back to the chapter."""

    CSS_PATH = "calls_screen.tcss"
    HELP = (
        "1 lists waiting and failed requests of all chapters; 2 lists every call of this chapter, the newest "
        "first, failed ones too, where Enter shows input and answer, and t how inputs grew; 3 shows what the "
        "calls cost."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "view('queue')", "Queue", show=False),
        Binding("2", "view('history')", "History", show=False),
        Binding("3", "view('money')", "Money", show=False),
        Binding("r", "reload", "Read again"),
        Binding("escape,f7", "close", "Back"),
    ]

    _switcher = getters.query_one(PanelSwitcher)
    _banner = getters.query_one("#trouble", Banner)

    def __init__(
        self,
        engine: Engine,
        session: SessionHandle,
        folder: Path,
        take_back: Callable[[RequestId | None], None],
    ) -> None:
        """Show the calls of `session`.

        `folder` is for text that is not stored yet; `take_back` returns a waiting prompt, or all of them.
        """
        super().__init__()
        self._engine = engine
        self._session = session
        self._folder = folder
        self._take_back = take_back
        self._views: dict[str, CallsView] = {}
        self._is_loading = False
        self._early: list[Key] = []
        """Keys that came while a view was read, in order: they are meant for its rows."""

    def compose(self) -> ComposeResult:
        """Compose the names of the views; the views come below them."""
        with Horizontal(id="top"):
            yield Static("Calls ", id="heading", markup=False)
            yield PanelSwitcher(ENTRIES, active=HISTORY)
            yield Static("", id="hint", markup=False)
        yield Banner(id="trouble")
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the queue where it is paused, else what was asked and answered."""
        self.action_view(QUEUE if self._engine.queue.is_paused else HISTORY)

    @on(PanelSwitcher.Picked)
    def _pick(self, event: PanelSwitcher.Picked) -> None:
        self.action_view(event.key)

    def action_view(self, name: str) -> None:
        """Show a view, as it is stored now."""
        self._switcher.active = name
        self.set_focus(None)  # The next key is not for the view that was shown before.
        self._load(takes_focus=True)

    def _load(self, *, takes_focus: bool) -> None:
        self._is_loading = True
        self._show(self._switcher.active, takes_focus=takes_focus)

    @on(Banner.ActionChosen)
    @on(CallsView.ReloadWanted)
    def action_reload(self) -> None:
        """Read the view again."""
        self._load(takes_focus=False)

    def on_key(self, event: Key) -> None:
        """Keep what is typed before the view is there, but for keys that need no view."""
        binding = self.active_bindings.get(event.key)
        if self._is_loading and (self._early or binding is None):
            event.stop()
            if len(self._early) < MOST_EARLY:
                self._early.append(event)

    async def _press(self, event: Key) -> None:
        """Do what a key does where the focus is now; a dialog that has opened gets it as it is."""
        if not self.is_active:
            self.app.post_message(Key(event.key, event.character))
            return
        binding = self.active_bindings.get(event.key)
        if binding is not None and binding.enabled:
            await self.app.run_action(binding.binding.action, binding.node)

    async def _press_early(self) -> None:
        while self._early and not self._is_loading:
            await self._press(self._early.pop(0))

    @work(group="load", exclusive=True, exit_on_error=False)
    async def _show(self, name: str, *, takes_focus: bool) -> None:
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = self._made(name)
            await self.mount(view, after=self._banner)
        self.query_one("#hint", Static).update(Content(view.HINT))
        for other in self._views.values():
            other.display = other is view
        try:
            await view.reload()
        except Exception as error:  # a bug too: keys that wait for the rows must not be pressed later
            self._early.clear()
            if not isinstance(error, StoryEngineError):
                self._is_loading = False
                raise
            self._banner.show(error.message, hint=error.hint, actions=(BannerAction("retry", "Retry", "r"),))
        else:
            self._banner.hide()
        self._is_loading = False
        if takes_focus or self.focused is None:
            # At once: a key that is queued already is meant for the rows.
            self.set_focus(view.table if view.table.row_count else view)
        await self._press_early()

    def _made(self, name: str) -> CallsView:
        match name:
            case "queue":
                return QueueView(self._engine.queue, self._session, self._folder, self._return)
            case "money":
                return MoneyView(self._engine, self._session.id)
            case _:
                return HistoryView(self._session)

    def _return(self, request_id: RequestId | None) -> None:
        if request_id is None:
            self.dismiss()
        self._take_back(request_id)
