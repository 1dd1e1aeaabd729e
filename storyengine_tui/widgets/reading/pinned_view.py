"""A line view that keeps a paragraph at the top, however often the page around it is laid out."""

from collections.abc import Callable

from textual import on
from textual.events import MouseScrollDown, MouseScrollUp
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp

from storyengine_tui.widgets.reading.selectable_line_view import SelectableLineView
from storyengine_tui.widgets.reading.transcript_lines import SourcePos


class PinnedView(SelectableLineView):
    """Keeps a paragraph at the top until the reader scrolls."""

    pinned: int | None = None
    """The paragraph at the top; None while the reader or the growing end decides."""

    def pin(self, paragraph: int) -> None:
        """Keep this paragraph at the top, now and after every resize."""
        self.pinned = paragraph
        self._hold_place()

    @on(MouseScrollUp)
    @on(MouseScrollDown)
    @on(ScrollTo)
    @on(ScrollUp)
    @on(ScrollDown)
    def unpin(self) -> None:
        """Leave the position to the reader, or to the end that grows."""
        self.pinned = None

    def follow(self) -> None:
        """Go to the end and stay there while it grows."""
        self.unpin()
        super().follow()

    def _go(self, way: str, scroll: Callable[[], None]) -> None:
        self.unpin()
        super()._go(way, scroll)

    def _hold_place(self) -> None:
        if self.pinned is None or not self._width or self.pinned >= len(self.lines.paragraphs):
            super()._hold_place()
            return
        self._is_following = False
        self.scroll_to(y=self.lines.spot(SourcePos(self.pinned, 0)).y, animate=False)
        self._top = self._top_marks()
        self.has_more_below = round(self.scroll_y) < self.max_scroll_y
