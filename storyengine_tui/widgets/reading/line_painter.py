"""Paints the lines of a transcript, and keeps the strips that it has painted."""

from collections.abc import Callable, Iterable
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from core.domain.story.transcript import PieceKind
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, TranscriptLines
from storyengine_tui.widgets.reading.wrap import Span, fragments

MOST_STRIPS: Final = 512
"""Painted lines in the cache; each is some kilobytes, and an evening shows thousands of them."""

QUOTED: Final = Style(underline=True)
"""Style of words that are kept as a quote: without a colour, which says who speaks."""

_STYLE_NAMES: Final = {PieceKind.GM: "gm", PieceKind.SYSTEM: "line"}

Highlight = tuple[int, int, Style]
"""A part of a paragraph that looks different: its first character, the one behind it, and what is added."""


class LinePainter:
    """Paints `lines` in the styles of `view`. A token paints its line alone: the others are cached."""

    def __init__(self, view: Widget, lines: TranscriptLines) -> None:
        self._view, self._lines = view, lines
        self.strips: dict[int, Strip] = {}
        """Lines without highlights."""
        self.framed: dict[int, Strip] = {}
        """The same lines with their margins, as they were painted last."""
        self._framed_width = 0
        self._styles: dict[str, Style] = {}

    def forget(self, first: int, end: int) -> None:
        """Drop the lines from `first` on, before `end`."""
        for kept in (self.strips, self.framed):
            if first == 0:
                kept.clear()
            for y in range(first, end) if kept else ():
                kept.pop(y, None)

    def forget_styles(self) -> None:
        """Drop what was painted in other colours."""
        for kept in (self.strips, self.framed, self._styles):
            kept.clear()

    def rows(self, crop: Region, render: Callable[[Region], list[Strip]]) -> list[Strip]:
        """Return the rows of `crop`; `render` makes those of a region, with margins, that are not known."""
        width, top = self._view.outer_size.width, self._view.scroll_offset.y
        if width != self._framed_width or len(self.framed) >= MOST_STRIPS:
            self.framed.clear()
            self._framed_width = width
        rows = [self.framed.get(top + y) for y in crop.line_range]
        missing = [y for y, strip in zip(crop.line_range, rows, strict=True) if strip is None]
        if missing:
            made = render(Region(0, missing[0], width, missing[-1] + 1 - missing[0]))
            for y, strip in enumerate(made, missing[0]):
                rows[y - crop.y] = strip
                if top + y in self.strips:
                    self.framed[top + y] = strip
        begin, end = crop.column_span
        return [strip.crop(begin, end) for strip in rows if strip is not None]

    def paint(self, line: int, highlights: list[Highlight]) -> Strip:
        """Paint a line, and keep it if it has no highlights."""
        if highlights:
            self.strips.pop(line, None)
            return self._painted(line, highlights)
        if len(self.strips) >= MOST_STRIPS:
            self.strips.clear()
        strip = self.strips[line] = self._painted(line, highlights)
        return strip

    def _painted(self, line: int, highlights: list[Highlight]) -> Strip:
        width = self._view.scrollable_content_region.width
        found = self._lines.line(line)
        if found is None:
            # The blank lines between paragraphs can be selected through as well.
            return Strip([Segment(" " * width, self._style_of(None) + _offset_style(0, line))], width)
        paragraph, span = found
        style = self._style_of(paragraph)
        segments: list[Segment] = []
        divided = _divided(span, style, highlights)
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
        if name not in self._styles:
            view, component = self._view, f"transcript-view--{name}"
            self._styles[name] = view.get_component_rich_style(component) if name else view.rich_style
        return self._styles[name]


def without_overlap(highlights: Iterable[Highlight]) -> list[Highlight]:
    """Return the highlights sorted by position; where two overlap, the earlier in `highlights` wins."""
    kept: list[Highlight] = []
    for begin, end, style in highlights:
        free = [(begin, end)]
        for taken_begin, taken_end, _ in kept:
            free = [
                piece
                for left, right in free
                for piece in ((left, min(right, taken_begin)), (max(left, taken_end), right))
                if piece[0] < piece[1]
            ]
        kept += [(left, right, style) for left, right in free]
    return sorted(kept, key=lambda part: part[0])


def _offset_style(x: int, y: int) -> Style:
    """Return the style that tells Textual's selection the position of a piece in the source."""
    return Style.from_meta({"offset": (x, y)})


def _divided(span: Span, style: Style, highlights: list[Highlight]) -> list[tuple[Span, Style]]:
    """Divide a line at the highlights that it has."""
    divided: list[tuple[Span, Style]] = []
    begin = span.begin
    for first, last, extra in highlights:
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
