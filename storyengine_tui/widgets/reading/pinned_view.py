"""A line view that can be held at a paragraph, however often the page around it is laid out."""

from collections.abc import Callable

from storyengine_tui.widgets.reading.selectable_line_view import SelectableLineView
from storyengine_tui.widgets.reading.transcript_lines import SourcePos


class PinnedView(SelectableLineView):
    """Keeps a paragraph at the top until the reader scrolls."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._pinned: int | None = None

    def pin(self, paragraph: int) -> None:
        """Keep this paragraph at the top, now and after every resize."""
        self._pinned = paragraph
        self._hold_place()

    def unpin(self) -> None:
        """Leave the place to the reader, or to the end that grows."""
        self._pinned = None

    @property
    def pinned(self) -> int | None:
        """The paragraph that is held."""
        return self._pinned

    def follow(self) -> None:
        """Go to the end and stay there while it grows."""
        self.unpin()
        super().follow()

    def _hold_place(self) -> None:
        if self._pinned is None or not self._width or self._pinned >= len(self.lines.paragraphs):
            super()._hold_place()
            return
        self._is_following = False
        self.scroll_to(y=self.lines.spot(SourcePos(self._pinned, 0)).y, animate=False)
        self._top = self._top_marks()
        self.has_more_below = round(self.scroll_y) < self.max_scroll_y

    # Whatever the reader scrolls with

    def _go(self, way: str, scroll: Callable[[], None]) -> None:
        self.unpin()
        super()._go(way, scroll)

    def on_mouse_scroll_up(self) -> None:
        """The wheel."""
        self.unpin()

    def on_mouse_scroll_down(self) -> None:
        """The wheel."""
        self.unpin()

    def on_scroll_to(self) -> None:
        """The scrollbar is dragged."""
        self.unpin()

    def on_scroll_up(self) -> None:
        """The scrollbar is clicked."""
        self.unpin()

    def on_scroll_down(self) -> None:
        """The scrollbar is clicked."""
        self.unpin()
