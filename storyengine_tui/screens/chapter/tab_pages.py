"""The pages of the three tabs: imported and made behind the first paint, the one in sight first."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import on
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TabbedContent, TabPane

from storyengine_tui.screens.chapter.idle import IdleDetector
from storyengine_tui.screens.shared.tall_layout import apply_tall_class

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle
    from core.engine.sync.notifications import Notification
    from storyengine_tui.screens.shared.session_tab import SessionTab

log = logging.getLogger(__name__)

TITLES: Final = {"setup": "1 World", "play": "2 Play", "narrative": "3 Chapter"}
_CLASSES: Final = {"setup": "SetupPane", "play": "PlayPane", "narrative": "NarrativePane"}
"""The page of each tab; that of `setup` is in `setup_pane`."""

PRERENDER_PAUSE_SECONDS: Final = 0.3
"""Seconds that the first page has for itself: to make another takes as long as some keys."""

BEHIND: Final = "behind"
"""The layer of a page that is laid out and not seen."""
LAYOUT_TIMEOUT_SECONDS: Final = 2.0
"""Seconds after which a page that is not laid out yet is left as it is."""


class PageTab(TabPane):
    """A tab that may have no page yet; it is empty then."""

    def render(self) -> str:
        """Show nothing: Textual would show the widget's name."""
        return ""

    @on(TabPane.Focused)
    def _keep_to_itself(self, event: TabPane.Focused) -> None:
        """Only the GM changes tabs: told late of a focus, Textual would go back to a tab that was left."""
        event.stop()


class TabPages:
    """Makes a page when it is first wanted, and hands each the session and its notices.

    A page without a session is not displayed, so that nothing can be typed that could not be stored. To
    disable it would say the same, and would restyle everything on it.
    """

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._pages: dict[str, SessionTab] = {}
        self._attached: set[str] = set()
        self._making = asyncio.Lock()
        self._is_wanted = asyncio.Event()
        self.idle = IdleDetector()
        """When the GM does nothing; it is to be told of every key."""
        self.folder: Path | None = None
        """Where the pages keep a text that is not stored yet."""

    def __iter__(self) -> "Iterator[SessionTab]":
        return iter(self._pages.values())

    @property
    def are_attached(self) -> bool:
        """Whether every page shows the session."""
        return len(self._attached) == len(TITLES)

    def get_page(self, tab: str) -> "SessionTab | None":
        """Return the page of a tab, if it shows a session; one that does not yet will at once."""
        if tab not in self._attached:
            self._is_wanted.set()
            return None
        return self._pages[tab]

    async def make(self, tab: str) -> "SessionTab":
        """Return the page of a tab; it is made if it has not been yet."""
        async with self._making:
            if tab not in self._pages:
                # In a thread: an import takes as long as some keys.
                module = await asyncio.to_thread(import_module, f"storyengine_tui.screens.{tab}.{tab}_pane")
                page: SessionTab = getattr(module, _CLASSES[tab])()
                page.display = False
                await self._screen.query_one(f"#{tab}", TabPane).mount(page)
                apply_tall_class(page, self._screen.size.height)
                self._pages[tab] = page
            return self._pages[tab]

    async def attach(self, tab: str, session: "SessionHandle") -> None:
        """Show this session on the page of a tab."""
        page = await self.make(tab)
        page.folder = self.folder
        await page.attach(session)
        page.display = True
        self._attached.add(tab)

    async def attach_others(self, session: "SessionHandle", is_open: Callable[[], bool]) -> None:
        """Show this session on the remaining pages, after the first idle moment."""
        self._is_wanted.clear()
        if not self._screen.app.is_headless:
            with suppress(TimeoutError):
                async with asyncio.timeout(PRERENDER_PAUSE_SECONDS):
                    await self._is_wanted.wait()
        for tab in TITLES:
            if is_open() and tab not in self._attached:
                await self.attach(tab, session)

    async def prepare_others(self, is_open: Callable[[], bool]) -> None:
        """Pre-render hidden tabs while the user is idle."""
        for tab in TITLES:
            await self.idle.wait_until_idle()
            if is_open() and (page := self.get_page(tab)) is not None:
                await page.prepare()
            await self.idle.wait_until_idle()
            if is_open():
                await self.lay_out_behind(tab)

    async def lay_out_behind(self, tab: str) -> None:
        """Lay a hidden tab out on a background layer, so that its first visit is no slower than later ones.

        What is painted stays as it is: the page in sight covers it. Nothing in it can take the focus.
        """
        pane, page = self._screen.query_one(f"#{tab}", PageTab), self.get_page(tab)
        if page is None or pane.display or self._screen.app.screen is not self._screen:
            return
        page.is_behind, pane.can_focus_children = True, False
        pane.styles.layer, pane.display = BEHIND, True
        try:
            await self._laid_out(pane)
            for widget in [page, *page.walk_children(Widget)]:
                if widget.region and page.region.overlaps(widget.region):
                    widget.render_lines(widget.region.reset_offset)
                    await asyncio.sleep(0)  # A key is not to wait for more than one of them.
        finally:
            page.is_behind, pane.can_focus_children = False, True
            pane.styles.layer = None
            # The GM may have come here meanwhile.
            pane.display = self._screen.query_one(TabbedContent).active == tab

    async def _laid_out(self, pane: Widget) -> None:
        """Return when it has its places and has heard of them: the first refresh may come before that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAYOUT_TIMEOUT_SECONDS):
                while True:
                    is_refreshed = asyncio.Event()
                    self._screen.call_after_refresh(is_refreshed.set)
                    await is_refreshed.wait()
                    if pane.region:
                        return

    async def attach_all(self, session: "SessionHandle", *, first: str) -> None:
        """Show this session on every page, on one of them first."""
        for tab in sorted(TITLES, key=lambda tab: tab != first):
            await self.attach(tab, session)

    def show_beginning(self) -> None:
        """Show every text that can be changed from its beginning."""
        for page in self:
            page.show_beginning()

    def on_notification(self, notification: "Notification") -> None:
        """Hand a notice to every page."""
        for page in self:
            page.on_notification(notification)

    def refresh_views(self) -> None:
        """Compute the view of every page once, after all notices of a commit."""
        for page in self:
            page.refresh_view()

    async def flush(self) -> None:
        """Store what is typed on every page, also where another one fails; raise what the first failure was.

        A page may be attached meanwhile.
        """
        flushed: set[str] = set()
        failures: list[BaseException] = []
        while waiting := self._attached - flushed:
            flushed |= waiting
            outcomes = await asyncio.gather(
                *(self._pages[tab].flush() for tab in sorted(waiting)), return_exceptions=True
            )
            failures += [outcome for outcome in outcomes if outcome is not None]
        for failure in failures[1:]:
            log.error("more of what is typed could not be stored", exc_info=failure)
        if failures:
            raise failures[0]

    async def focus_first_invalid(self) -> tuple[str, str]:
        """Focus the first field whose text cannot be stored; return its tab and the reason, or nothing."""
        for tab in sorted(self._attached):
            if why := await self._pages[tab].focus_first_invalid():
                return tab, why
        return "", ""

    def detach(self) -> None:
        """Let go of the session; what was typed has been flushed."""
        for tab in self._attached:
            self._pages[tab].detach()
            self._pages[tab].display = False
        self._attached.clear()
