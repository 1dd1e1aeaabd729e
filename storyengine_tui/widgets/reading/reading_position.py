"""The position of the reader in a view: at a paragraph, at the end, or anywhere else."""

from textual.widget import Widget

from storyengine_tui.widgets.reading.transcript_lines import SourceAnchor, SourcePos, TranscriptLines


class ReadingPosition:
    """Keeps the scroll position of `view` while its `lines` change, or the end in view."""

    def __init__(self, view: Widget, lines: TranscriptLines) -> None:
        self._view, self._lines = view, lines
        self.is_following = True
        """Whether new text is scrolled into view."""
        self.pinned: int | None = None
        """The paragraph at the top; None while the reader or the growing end decides."""
        self.top: list[tuple[int, SourceAnchor]] = []
        """The `anchors` of the place that the reader last scrolled to."""

    def hold(self) -> bool:
        """Scroll to the pinned paragraph or the followed end; return whether the end is out of view."""
        view, end = self._view, self._view.max_scroll_y
        if self.pinned is not None and self.pinned < len(self._lines.paragraphs):
            self.is_following = False
            view.scroll_to(y=self._lines.spot(SourcePos(self.pinned, 0)).y, animate=False)
        if self.is_following:
            view.scroll_to(y=end, animate=False)
        else:
            self.top = self.anchors()
        return round(view.scroll_y) < end

    def note_scroll(self, y: float) -> None:
        """Follow the end from now on if it is in view at `y`."""
        self.is_following = round(y) >= self._view.max_scroll_y
        if not self.is_following:
            self.top = self.anchors()

    def anchors(self) -> list[tuple[int, SourceAnchor]]:
        """Return anchors of lines in view, with their rows: the text of the first may be gone later."""
        top = self._view.scroll_offset.y
        anchors = []
        for row in range(self._view.size.height):
            found = self._lines.line(top + row)
            if found is not None and (row == 0 or found[1].begin == 0):
                paragraph, span = found
                anchors.append((row, SourceAnchor(paragraph.key, paragraph.text, span.begin)))
        return anchors

    def go_back(self, anchors: list[tuple[int, SourceAnchor]]) -> None:
        """Scroll so that the first of these lines that is found is in its row again."""
        for row, anchor in anchors:
            place = self._lines.recall(anchor)
            if place is not None:
                self._view.scroll_to(y=self._lines.spot(place).y - row, animate=False)
                return

    def show(self, place: SourcePos) -> None:
        """Scroll as little as needed to show `place`."""
        y = self._lines.spot(place).y
        top, height = self._view.scroll_offset.y, self._view.size.height
        if y < top:
            self._view.scroll_to(y=y, animate=False)
        elif y >= top + height:
            self._view.scroll_to(y=y - height + 1, animate=False)
