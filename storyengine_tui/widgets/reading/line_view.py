"""Paints the lines of a transcript, and keeps the scroll position of the reader, or the end in view."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from core.domain.story.transcript import PieceKind
from storyengine_tui.textual_ext.painting.line_scroll import set_virtual_size
from storyengine_tui.widgets.reading.transcript_lines import (
    Paragraph,
    ScreenPos,
    SourceAnchor,
    SourcePos,
    TranscriptLines,
)
from storyengine_tui.widgets.reading.wrap import Span, fragments
from storyengine_tui.widgets.widget_message import WidgetMessage

WIDEST: Final = 100
"""Most cells of a line: from the end of a longer one the eye does not find the next."""

_STYLE_NAMES: Final = {PieceKind.GM: "gm", PieceKind.SYSTEM: "line"}

QUOTED: Final = Style(underline=True)
"""Style of words that are kept as a quote: without a colour, which says who speaks."""

MOST_STRIPS: Final = 512
"""Painted lines in the cache; each is some kilobytes, and an evening shows thousands of them."""


class LineView(ScrollView):
    """Shows `self.lines`. A streamed token repaints its line alone: all other strips are cached."""

    DEFAULT_CSS = """
    LineView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-horizontal: 0; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "transcript-view--aside",
        "transcript-view--gm",
    }

    has_more_below: reactive[bool] = reactive(False, repaint=False, init=False)
    """Whether the end is out of view."""

    @dataclass
    class MoreBelowChanged(WidgetMessage["LineView"]):
        """The end went out of view, or came back."""

        has_more_below: bool

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.lines = TranscriptLines()
        self._width = 0
        self.is_following = True
        """Whether new text is scrolled into view."""
        self._top: list[tuple[int, SourceAnchor]] = []
        self._strips: dict[int, Strip] = {}
        self._framed: dict[int, Strip] = {}
        """The same lines with their margins, as they were painted last."""
        self._framed_width = 0
        self._styles_of: dict[str, Style] = {}

    def follow(self) -> None:
        """Go to the end and stay there while it grows."""
        self.is_following = True
        self._hold_place()

    # Changes

    def extend(self, change: Callable[[], int]) -> None:
        """Apply a change at the end; `change` returns the first line that may look different."""
        height = self.lines.height
        self._paint_from(change(), height)
        self._hold_place()

    def rearrange(self, change: Callable[[], int]) -> None:
        """Apply any other change, and keep the text that the reader looks at where it is."""
        height = self.lines.height
        top = self._top_marks()
        self._paint_from(change(), height)
        if not self.is_following:
            self._return_to(top)
        self._hold_place()

    def _paint_from(self, dirty: int, old_height: int) -> None:
        height = self.lines.height
        for kept in (self._strips, self._framed):
            if dirty == 0:
                kept.clear()
            for y in range(dirty, max(height, old_height)) if kept else ():
                kept.pop(y, None)
        if not self._width:
            return
        size = Size(self._width, height)
        if size != self.virtual_size:
            set_virtual_size(self, size)
        first = max(dirty - self.scroll_offset.y, 0)
        last = min(max(height, old_height) - self.scroll_offset.y, self.size.height)
        if first < last or not self.size:
            self.refresh(Region(0, first, self._width, last - first))

    # Keeping the position

    def _hold_place(self) -> None:
        """Scroll to the end if it is followed, else remember what is at the top."""
        if not self._width:
            return
        if self.is_following:
            self.scroll_to(y=self.max_scroll_y, animate=False)
        else:
            self._top = self._top_marks()
        self.has_more_below = round(self.scroll_y) < self.max_scroll_y

    def _top_marks(self) -> list[tuple[int, SourceAnchor]]:
        """Return anchors of the lines in view, with their rows: the first may be gone later."""
        top = self.scroll_offset.y
        marks = []
        for row in range(self.size.height):
            found = self.lines.line(top + row)
            if found is not None and (row == 0 or found[1].begin == 0):
                mark = self.lines.mark(self.lines.place(ScreenPos(0, top + row)))
                if mark is not None:
                    marks.append((row, mark))
        return marks

    def _return_to(self, marks: list[tuple[int, SourceAnchor]]) -> None:
        for row, mark in marks:
            place = self.lines.recall(mark)
            if place is not None:
                self.scroll_to(y=self.lines.spot(place).y - row, animate=False)
                return

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end from now on if it is in view."""
        super().watch_scroll_y(old_value, new_value)
        if self.scrollable_content_region.width != self._width:
            return  # In the middle of a resize; `on_resize` follows.
        self.is_following = round(new_value) >= self.max_scroll_y
        if not self.is_following:
            self._top = self._top_marks()
        self.has_more_below = not self.is_following

    def watch_has_more_below(self, has_more_below: bool) -> None:
        """Tell the owner."""
        self.post_message(self.MoreBelowChanged(self, has_more_below))

    def on_resize(self) -> None:
        """Wrap to the new width and keep the place."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        if width != self._width:
            top, was_following = self._top, self.is_following
            self.rewrap(width)
            if not was_following:
                self._return_to(top)
            self.is_following = was_following
        self._hold_place()

    def rewrap(self, width: int) -> None:
        """Wrap everything again."""
        self._width = width
        height = self.lines.height
        self.lines.set_width(min(width, WIDEST))
        self._paint_from(0, height)

    # Painting

    def notify_style_update(self) -> None:
        """Drop what was painted in other colours."""
        super().notify_style_update()
        self._strips.clear()
        self._framed.clear()
        self._styles_of.clear()

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Repaint the given lines, or all.

        A view on a hidden page has no size, so no region can say which of its lines will be visible. Textual
        would keep the rows that it painted last, and show them again with the page.
        """
        if not self.size:
            regions = ()
        if repaint and not regions:
            self._framed.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the visible rows. A line that only moved is not rendered again."""
        width, top = self.outer_size.width, self.scroll_offset.y
        if self.gutter.height:
            return super().render_lines(crop)
        if width != self._framed_width or len(self._framed) >= MOST_STRIPS:
            self._framed.clear()
            self._framed_width = width
        rows = [self._framed.get(top + y) for y in crop.line_range]
        missing = [y for y, strip in zip(crop.line_range, rows, strict=True) if strip is None]
        if missing:
            made = super().render_lines(Region(0, missing[0], width, missing[-1] + 1 - missing[0]))
            for y, strip in enumerate(made, missing[0]):
                rows[y - crop.y] = strip
                if top + y in self._strips:
                    self._framed[top + y] = strip
        begin, end = crop.column_span
        return [strip.crop(begin, end) for strip in rows if strip is not None]

    def render_line(self, y: int) -> Strip:
        """Return visible row `y`."""
        line = y + self.scroll_offset.y
        parts = self.highlights(line)
        if parts:
            self._strips.pop(line, None)
            return self._painted(line, parts)
        strip = self._strips.get(line)
        if strip is None:
            if len(self._strips) >= MOST_STRIPS:
                self._strips.clear()
            strip = self._strips[line] = self._painted(line, [])
        return strip

    def highlights(self, line: int) -> list[tuple[int, int, Style]]:
        """Return the highlighted spans of a line, by offset in their paragraph, in order."""
        return []

    def _painted(self, line: int, parts: list[tuple[int, int, Style]]) -> Strip:
        width = self.scrollable_content_region.width
        found = self.lines.line(line)
        if found is None:
            # The blank lines between paragraphs can be selected through as well.
            return Strip([Segment(" " * width, self._style_of(None) + _offset_style(0, line))], width)
        paragraph, span = found
        style = self._style_of(paragraph)
        segments: list[Segment] = []
        divided = _divided(span, style, parts)
        if paragraph.quoted:
            quoted = [(begin, end, QUOTED) for begin, end in paragraph.quoted]
            divided = [piece for part, under in divided for piece in _divided(part, under, quoted)]
        for part, part_style in divided:
            column = sum(segment.cell_length for segment in segments)
            for text, offset in fragments(paragraph.text, part, column):
                segments.append(Segment(text, part_style + _offset_style(offset - span.begin, line)))
        return Strip(segments).adjust_cell_length(width, self._style_of(None))

    def _style_of(self, paragraph: Paragraph | None) -> Style:
        """Return the style of a paragraph, or of a blank line.

        Cached: Textual combines it again from all ancestors, for every line.
        """
        if paragraph is None:
            name = ""
        elif paragraph.kind is PieceKind.REPLY and paragraph.slot is not None:
            name = paragraph.slot.colour
        else:
            name = _STYLE_NAMES.get(paragraph.kind, "aside")
        if name not in self._styles_of:
            component = f"transcript-view--{name}"
            self._styles_of[name] = self.get_component_rich_style(component) if name else self.rich_style
        return self._styles_of[name]

    def place_in_sight(self, place: SourcePos) -> None:
        """Scroll as little as needed to show `place`."""
        y = self.lines.spot(place).y
        top, height = self.scroll_offset.y, self.size.height
        if y < top:
            self.scroll_to(y=y, animate=False)
        elif y >= top + height:
            self.scroll_to(y=y - height + 1, animate=False)


def _offset_style(x: int, y: int) -> Style:
    """Return the style that tells Textual's selection the position of a piece in the source."""
    return Style.from_meta({"offset": (x, y)})


def _divided(span: Span, style: Style, parts: list[tuple[int, int, Style]]) -> list[tuple[Span, Style]]:
    """Divide a line at the highlights that it has."""
    divided: list[tuple[Span, Style]] = []
    begin = span.begin
    for first, last, extra in parts:
        first, last = max(first, begin), min(last, span.end)
        if first >= last:
            continue
        if begin < first:
            divided.append((Span(begin, first), style))
        divided.append((Span(first, last), style + extra))
        begin = last
    if begin < span.end or not divided:
        divided.append((Span(begin, span.end), style))
    return divided
