"""The pages of the three tabs: imported and created after the first paint, the visible one first."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import on
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TabbedContent, TabPane

from core.domain.errors import StoryEngineError
from core.domain.session.session_state import SessionState
from storyengine_tui.textual_ext.painting.visibility import is_displayed

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle
    from storyengine_tui.screens.shared.session_tab import SessionTab

log = logging.getLogger(__name__)

TITLES: Final = {"setup": "1 World", "play": "2 Play", "narrative": "3 Chapter"}
"""The titles of the tabs; the page of the tab `setup` is the class `SetupPane` in `setup_pane`, and so on."""

IDLE_SECONDS: Final = 0.5
"""Seconds without a key after which the GM is idle."""
PRERENDER_PAUSE_SECONDS: Final = 0.3
"""Seconds before each hidden page is created: creating one delays keys."""
LAYOUT_TIMEOUT_SECONDS: Final = 2.0
"""Seconds after which pre-rendering a page is given up."""
TALL: Final = 36
"""Rows of a terminal from which on fields are higher."""
MOST_ROUNDS: Final = 5
"""Rounds of storing at most: a chapter can be left also where a key is held down all the while."""
BEHIND: Final = "behind"
"""The layer of a page that is laid out but covered."""


def apply_tall_class(root: Widget, rows: int, *, is_shown_only: bool = False) -> None:
    """Set the class `-tall` on the widgets with the class `grows` if the terminal has the rows for it.

    A class of the screen, as Textual's breakpoints use it, would restyle all widgets of all pages. No style
    of a widget inside a `grows` widget depends on `-tall`.
    """
    is_tall = rows >= TALL
    for widget in root.walk_children(Widget):
        # Not by a query, which checks the ancestors of every widget and takes seven times as long.
        if not widget.has_class("grows") or widget.has_class("-tall") is is_tall:
            continue
        if is_shown_only and not is_displayed(widget):
            continue
        widget.set_class(is_tall, "-tall", update=False)
        widget.app.stylesheet.apply(widget)


def home_tab(state: SessionState) -> str:
    """Return the tab on which a chapter in this state opens."""
    return "setup" if state.is_unlocked else "narrative" if state.has_ended else "play"


class PageTab(TabPane):
    """A tab; it is empty until its page is created."""

    def render(self) -> str:
        """Show nothing: Textual would show the widget's name."""
        return ""

    @on(TabPane.Focused)
    def _stop_focused(self, event: TabPane.Focused) -> None:
        """Hide the event from Textual: a late one would make it return to a tab that the GM has left."""
        event.stop()


class IdleDetector:
    """Detects that the GM is idle, for work that can wait."""

    def __init__(self) -> None:
        self._touched_at = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the last key."""
        return time.monotonic() - self._touched_at

    def touch(self) -> None:
        """Note that a key was pressed."""
        self._touched_at = time.monotonic()

    async def wait_until_idle(self) -> None:
        """Wait until no key was pressed for `IDLE_SECONDS`; return at once if the GM is idle already."""
        await asyncio.sleep(0)  # Let a queued key be handled first.
        while (left := IDLE_SECONDS - self.seconds) > 0:  # noqa: ASYNC110 - it sleeps for all that is left
            await asyncio.sleep(left)


class TabPages:
    """Creates a page when it is first needed, and attaches the session to it.

    A page without a session is not displayed, so that nothing is typed that could not be stored. Disabling
    the page would have the same effect, but would restyle everything on it.
    """

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._pages: dict[str, SessionTab] = {}
        self._attached: set[str] = set()
        self._making = asyncio.Lock()
        self._attaching = asyncio.Lock()
        self._wanted = asyncio.Queue[str]()
        """The tabs that the GM, or an action, asks for before a session is attached to their pages."""
        self.idle = IdleDetector()
        """Its `touch` must be called for every key."""
        self.folder: Path | None = None
        """The folder in which the pages keep text that is not stored yet."""

    def __iter__(self) -> "Iterator[SessionTab]":
        """Iterate over the pages that show the session."""
        return (self._pages[tab] for tab in TITLES if tab in self._attached)

    @property
    def active(self) -> str:
        """The id of the tab that shows; set it to go to another tab."""
        return self._screen.query_one("#tabs", TabbedContent).active

    @active.setter
    def active(self, tab: str) -> None:
        self._screen.query_one("#tabs", TabbedContent).active = tab

    @property
    def are_open(self) -> bool:
        """Whether a page shows the session; the others follow."""
        return bool(self._attached)

    def has(self, tab: str) -> bool:
        """Whether the page of a tab shows the session."""
        return tab in self._attached

    def get_page(self, tab: str) -> "SessionTab | None":
        """Return the page of a tab if a session is attached to it; otherwise have that done immediately."""
        if tab not in self._attached:
            self._wanted.put_nowait(tab)
            return None
        return self._pages[tab]

    async def make(self, tab: str) -> "SessionTab":
        """Return the page of a tab, which is created on the first call.

        A caller that is cancelled, since another chapter opens, does not stop the creation: the page would be
        in the tab, and the next caller would add another.
        """
        return await asyncio.shield(self._make(tab))

    async def _make(self, tab: str) -> "SessionTab":
        async with self._making:
            if tab not in self._pages:
                # Before the import: the window may close meanwhile. A closing tab ignores what is mounted.
                pane = self._screen.query_one(f"#{tab}", TabPane)
                # In a thread: an import would delay keys.
                module = await asyncio.to_thread(import_module, f"storyengine_tui.screens.{tab}.{tab}_pane")
                page: SessionTab = getattr(module, f"{tab.capitalize()}Pane")()
                page.display = False
                await pane.mount(page)
                apply_tall_class(page, self._screen.size.height)
                self._pages[tab] = page
            return self._pages[tab]

    async def attach(self, tab: str, session: "SessionHandle") -> None:
        """Show this session on the page of a tab."""
        async with self._attaching:
            page = await self.make(tab)
            page.folder = self.folder
            await page.attach(session)
            page.display = True
            self._attached.add(tab)

    async def attach_again(self, session: "SessionHandle") -> None:
        """Show the session as it is stored now on every page that shows it, the visible one first.

        Also on one that is being filled: it may have read what was stored before.
        """
        await self.wait_until_attached()
        for tab in sorted(self._attached, key=lambda tab: tab != self.active):
            await self.attach(tab, session)

    async def attach_others(self, session: "SessionHandle") -> AsyncIterator[str]:
        """Show this session on each remaining page once it is needed, or after a pause; yield its tab.

        Without a terminal only those that are needed are created: no key has to wait there.
        """
        pause = None if self._screen.app.is_headless else PRERENDER_PAUSE_SECONDS
        while missing := [tab for tab in TITLES if tab not in self._attached]:
            try:
                async with asyncio.timeout(pause):
                    tab = await self._wanted.get()
            except TimeoutError:
                tab = missing[0]
            if tab in missing:
                await self.attach(tab, session)
                yield tab

    async def wait_until_attached(self) -> None:
        """Wait for a page that is being filled: it may show what a notification says already, or not yet."""
        async with self._attaching:
            return

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

        The visible page covers it, so nothing on the screen changes. No widget in it can take the focus.
        """
        pane, page = self._screen.query_one(f"#{tab}", PageTab), self.get_page(tab)
        if page is None or pane.display or self._screen.app.screen is not self._screen:
            return
        page.is_behind, pane.can_focus_children = True, False
        pane.styles.layer, pane.display = BEHIND, True
        try:
            await self._wait_for_layout(pane)
            for widget in [page, *page.walk_children(Widget)]:
                if widget.region and page.region.overlaps(widget.region):
                    widget.render_lines(widget.region.reset_offset)
                    await asyncio.sleep(0)  # A key must not wait for more than one widget.
        finally:
            page.is_behind, pane.can_focus_children = False, True
            pane.styles.layer = None
            # The GM may have opened this tab meanwhile.
            pane.display = self.active == tab

    async def _wait_for_layout(self, pane: Widget) -> None:
        """Return when the tab has a region and its events are handled; the first refresh may be too early."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAYOUT_TIMEOUT_SECONDS):
                while True:
                    is_refreshed = asyncio.Event()
                    self._screen.call_after_refresh(is_refreshed.set)
                    await is_refreshed.wait()
                    if pane.region:
                        return

    async def flush(self) -> None:
        """Store what is typed on every page, even if one fails; raise the first failure.

        So is what is typed on a page, or on one that is attached, while another is being stored.
        """
        flushed: set[str] = set()
        failures: list[BaseException] = []
        for _ in range(MOST_ROUNDS):
            waiting = self._attached - flushed
            if not failures:  # Else a page may have no fields left to compare.
                waiting |= {tab for tab in flushed & self._attached if self._pages[tab].has_unsaved}
            if not waiting:
                break
            flushed |= waiting
            outcomes = await asyncio.gather(
                *(self._pages[tab].flush() for tab in sorted(waiting)), return_exceptions=True
            )
            for tab, outcome in zip(sorted(waiting), outcomes, strict=True):
                if isinstance(outcome, StoryEngineError):
                    self._pages[tab].kept_fields.keep()
            failures += [outcome for outcome in outcomes if outcome is not None]
        for failure in failures[1:]:
            log.error("typed text of another page could not be stored", exc_info=failure)
        if failures:
            raise failures[0]

    async def focus_first_invalid(self) -> tuple[str, str]:
        """Focus the first field whose text cannot be stored; return its tab and the reason, or nothing."""
        for tab in sorted(self._attached):
            if why := await self._pages[tab].focus_first_invalid():
                return tab, why
        return "", ""

    def detach(self) -> None:
        """Detach every page from the session; what was typed has been flushed."""
        for page in self._pages.values():
            if page.has_session:  # Also one that was being filled.
                page.detach()
                page.display = False
        self._attached.clear()
        self._wanted = asyncio.Queue()
