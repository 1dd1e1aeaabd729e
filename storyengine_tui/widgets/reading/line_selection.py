"""The selection in a transcript, by mouse and by keyboard, and the cursor that keys move."""

from collections.abc import Iterator
from contextlib import contextmanager
from sys import maxsize

from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.widget import Widget

from core.domain.story.transcript import PieceKind
from storyengine_tui.widgets.reading.line_painter import Highlight, without_overlap
from storyengine_tui.widgets.reading.reading_position import ReadingPosition
from storyengine_tui.widgets.reading.transcript_lines import ScreenPos, SourcePos, TranscriptLines
from storyengine_tui.widgets.reading.wrap import Span


class LineSelection:
    """Selects text of `lines` in `view`; Textual has the selection itself, as offsets in lines of a width."""

    def __init__(self, view: Widget, lines: TranscriptLines, position: ReadingPosition) -> None:
        self._view, self._lines, self._position = view, lines, position
        self.is_marking = False
        """Whether movement keys move the cursor instead of scrolling."""
        self.anchor: SourcePos | None = None
        self.cursor: SourcePos | None = None
        """The ends of a selection by keyboard. Keys move the cursor."""

    # What is selected

    @property
    def ends(self) -> tuple[SourcePos, SourcePos] | None:
        """The beginning and the end of the selection, in whole characters; None without one."""
        selection = self._view.text_selection
        return None if selection is None else self.range_of(selection)

    def range_of(self, selection: Selection) -> tuple[SourcePos, SourcePos]:
        """Return the beginning and the end of a selection of Textual's."""
        lines = self._lines
        start = SourcePos(0, 0) if selection.start is None else lines.place(ScreenPos(*selection.start))
        end = lines.end if selection.end is None else lines.place(ScreenPos(*selection.end))
        return lines.snapped(start, end)

    @property
    def place(self) -> SourcePos | None:
        """The place of the cursor, or of the end of the selection; None without one."""
        place = self.cursor if self.is_marking else None
        if place is None and (ends := self.ends):
            place = ends[1]
        return place if self._lines.paragraphs else None

    @property
    def key(self) -> object:
        """The key of the paragraph with the cursor, or with the end of the selection; None without one."""
        place = self.place
        return None if place is None else self._lines.paragraphs[place.paragraph].key

    @property
    def text_in_one(self) -> str | None:
        """The selected text of one paragraph, without its mark; None if more than one is selected."""
        if (ends := self.ends) is None:
            return ""
        return self._lines.text_between(*ends) if ends[0].paragraph == ends[1].paragraph else None

    # Selecting

    def select(self, anchor: SourcePos | None, cursor: SourcePos, *, keep_in_sight: bool = True) -> None:
        """Select from `anchor` to the cursor; without an anchor only show the cursor."""
        self.anchor, self.cursor = anchor, cursor
        self._set(None if anchor is None or anchor == cursor else self._between(anchor, cursor))
        if keep_in_sight:
            self._position.show(cursor)
        self._view.refresh()

    def mark(self, anchor: SourcePos | None, cursor: SourcePos) -> None:
        """Select, and let movement keys move the cursor."""
        self.select(anchor, cursor)
        self.is_marking = True
        self._view.refresh_bindings()

    def move(self, key: str, *, is_extending: bool = False) -> None:
        """Move the cursor as a movement key says; if extending, what it moves over is selected."""
        start = self.start()
        anchor = start if is_extending and self.anchor is None else self.anchor
        self.select(anchor, self._moved(start, key))

    def forget_ends(self) -> None:
        """Leave the selection to the mouse, and stop marking."""
        self.anchor = self.cursor = None
        if self.is_marking:
            self.is_marking = False
            self._view.refresh_bindings()

    def clear(self) -> None:
        """Select nothing, and stop marking."""
        self.forget_ends()
        self._set(None)
        self._view.refresh()

    def start(self) -> SourcePos:
        """Return the moving end: the cursor, that of a mouse selection, or the last line in sight.

        The dashed line of the boundary is passed over: nothing can be done with it.
        """
        ends = self.ends
        if ends is None and not self.is_marking and self.anchor != self.cursor:
            self.anchor = self.cursor = None  # Cleared elsewhere, as by Esc.
        if self.cursor is not None:
            return self.cursor
        if ends is not None:
            self.anchor, end = ends
            return end
        view = self._view
        bottom = min(view.scroll_offset.y + view.size.height, self._lines.height) - 1
        place = self._lines.place(ScreenPos(0, max(0, bottom)))
        here = self._lines.paragraphs[place.paragraph : place.paragraph + 1]
        if place.paragraph and here[0].kind is PieceKind.BOUNDARY:
            before = self._lines.paragraphs[place.paragraph - 1]
            return SourcePos(place.paragraph - 1, before.spans[-1].begin)
        return place

    def rows_of(self, key: str) -> int:
        """Return by how many rows a movement key moves; negative is up."""
        page = max(1, self._view.size.height - 1)
        return {"up": -1, "down": 1, "pageup": -page, "pagedown": page}[key]

    def _moved(self, place: SourcePos, key: str) -> SourcePos:
        lines = self._lines
        spot = lines.spot(place)
        match key:
            case "left" | "right":
                return lines.step(place, 1 if key == "right" else -1)
            case "home" | "end":
                return lines.place(ScreenPos(maxsize if key == "end" else 0, spot.y))
        step = self.rows_of(key)
        y = spot.y + step
        if abs(step) == 1 and lines.line(y) is None:
            y += step  # Skip the blank line between two paragraphs.
        if y < 0:
            return SourcePos(0, 0)
        return lines.end if y >= lines.height else lines.place(ScreenPos(spot.x, y))

    def _between(self, *places: SourcePos) -> Selection:
        return Selection.from_offsets(*(Offset(*self._lines.spot(place)) for place in places))

    def _set(self, selection: Selection | None) -> None:
        view, screen = self._view, self._view.screen
        others = {widget: other for widget, other in screen.selections.items() if widget is not view}
        screen.selections = others if selection is None else {**others, view: selection}

    # Painting it

    def highlights(self, line: int) -> list[Highlight]:
        """Return what is selected of a line, and the cursor while marking."""
        found = self._lines.line(line)
        if found is None:
            return []
        cursor = self._cursor_of(line, found[1]) if self.is_marking else None
        parts = [] if cursor is None else [(*cursor, Style(reverse=True))]
        selection = self._view.text_selection
        if selection is not None:
            start, end = self.range_of(selection)
            here = self._lines.place(ScreenPos(0, line)).paragraph
            start, end = max(start, SourcePos(here, 0)), min(end, SourcePos(here, len(found[0].text)))
            if start < end:
                # The background alone: every character keeps its colour.
                colour = self._view.screen.get_component_rich_style("screen--selection").bgcolor
                parts.append((start.offset, end.offset, Style(bgcolor=colour)))
        return parts if len(parts) < 2 else without_overlap(parts)

    def _cursor_of(self, line: int, span: Span) -> tuple[int, int] | None:
        cursor = self.cursor
        if cursor is None or self._lines.spot(cursor).y != line:
            return None
        first = min(cursor.offset, max(span.begin, span.end - 1))
        here = cursor.paragraph
        start, end = self._lines.snapped(SourcePos(here, first), SourcePos(here, min(first + 1, span.end)))
        return start.offset, end.offset

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what is selected while lines change; nothing is selected any more if its text is gone.

        The cursor of keys stays near its place then, so that they act as they say; without text it goes.
        """
        ends = self.ends if self._view.is_attached else None
        before = self.cursor
        places = (self.anchor, before, *(ends or ()))
        anchors = [place and self._lines.mark(place) for place in places]
        yield
        self.anchor, self.cursor, *found = (anchor and self._lines.recall(anchor) for anchor in anchors)
        if self.is_marking and self.cursor is None:
            self._stay_near(before)
        selected = [place for place in found if place is not None]
        if len(selected) < len(found):
            self._drop_selection()
        elif selected:
            self._set(self._between(*selected))

    def _stay_near(self, before: SourcePos | None) -> None:
        """Put the cursor where its paragraph was, or stop marking if there is no text."""
        count = len(self._lines.paragraphs)
        if before is not None and count:
            self.cursor = SourcePos(min(before.paragraph, count - 1), 0)
        else:
            self.clear()

    def _drop_selection(self) -> None:
        """Select nothing; the cursor of keys stays."""
        if self.is_marking:
            self.anchor = None
            self._set(None)
        else:
            self.clear()
