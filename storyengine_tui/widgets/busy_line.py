"""One quiet line that says what is going on, for how long, and how to cancel it."""

import time
from collections.abc import Callable

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from core.text.cleaning import clean_line
from core.text.graphemes import without_cut_word
from storyengine_tui.widgets.elapsed import elapsed_text
from storyengine_tui.widgets.widget_message import WidgetMessage

_SEPARATOR = " · "
LEAST_WHAT = 24
"""Cells of the activity that are shown before the expected time is."""


class BusyLine(Widget):
    """Empty while nothing goes on. It ticks once a second: a spinner would keep a slow link busy."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "BusyLine { height: 1; }"

    class CancelRequested(WidgetMessage["BusyLine"]):
        """The user clicked on the words about cancelling."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._what = ""
        self._style = ""
        self._cancel = ""
        self._expected = ""
        self._since = 0.0
        self._timer: Timer | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is going on."""
        return bool(self._what)

    def begin(self, what: str, *, style: str = "", cancel: str = "Esc cancels") -> None:
        """Show `what` and start counting the time. An empty `cancel` offers no cancelling."""
        self._since = self._clock()
        self._what, self._style, self._cancel = clean_line(what), style, cancel
        self._expected = ""
        self._tick_every_second()
        self.refresh()

    def say(self, what: str) -> None:
        """Change the words; the time goes on."""
        self._what, self._style = clean_line(what), ""
        self.refresh()

    def expect(self, expected: str) -> None:
        """Show how long it may take behind the time; it is dropped first where room is short."""
        self._expected = clean_line(expected)
        self.refresh()

    def end(self) -> None:
        """Show nothing."""
        self._what = ""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.refresh()

    def on_mount(self) -> None:
        """Tick, if it began before it was mounted."""
        self._tick_every_second()

    def _tick_every_second(self) -> None:
        if self.is_busy and self._timer is None and self.is_running:
            self._timer = self.set_interval(1, self.refresh)

    def render(self) -> Content:
        """Return the line: what, since when, how to cancel."""
        if not self._what:
            return Content("")
        parts = [(self._shown_what(), self._style), (self._before_cancel(), "")]
        if self._cancel:
            parts.append((self._cancel, "underline"))
        return Content.assemble(*parts)

    def _shown_what(self) -> str:
        """Return the activity, cut to leave room for the time and the words about cancelling."""
        room = self.content_size.width - cell_len(self._before_cancel() + self._cancel)
        if room <= 0 or cell_len(self._what) <= room:
            return self._what
        return without_cut_word(set_cell_size(self._what, room - 1), self._what).rstrip(" ,") + "…"

    def _before_cancel(self) -> str:
        spent = _SEPARATOR + elapsed_text(self._clock() - self._since)
        end = _SEPARATOR if self._cancel else ""
        expected = f" ({self._expected})" if self._expected else ""
        room = self.content_size.width - cell_len(spent + expected + end + self._cancel)
        return spent + (expected if room >= min(cell_len(self._what), LEAST_WHAT) else "") + end

    def on_click(self, event: events.Click) -> None:
        """Ask to cancel, if the words about it were clicked."""
        if self._what and self._cancel:
            start = Content(self._shown_what() + self._before_cancel()).cell_length
            if 0 <= event.x - self.gutter.left - start < Content(self._cancel).cell_length:
                event.stop()
                self.post_message(self.CancelRequested(self))
