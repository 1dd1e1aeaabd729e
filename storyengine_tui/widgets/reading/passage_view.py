"""Paragraphs with headings and coloured names, that can be searched, selected and copied."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import ClassVar, NamedTuple

from rich.style import Style

from core.domain.slot import Slot
from core.domain.story.transcript import PieceKind
from storyengine_tui.widgets.reading.line_painter import Highlight, without_overlap
from storyengine_tui.widgets.reading.line_view import LineView
from storyengine_tui.widgets.reading.memory_outline import Names, Passage, find_names
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, ScreenPos, SourcePos
from storyengine_tui.widgets.reading.wrap import Span

_HEADING = Style(bold=True)


class FoundPassage(NamedTuple):
    """A match of the search: its paragraph, and its first and last character."""

    paragraph: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Keyed:
    """A passage with the key that identifies it when other passages are shown later."""

    key: object
    passage: Passage


def pattern_of(needle: str) -> re.Pattern[str] | None:
    """Return a pattern for `needle` in any case and across line breaks; None for an empty text."""
    words = needle.split()
    return re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE) if words else None


class PassageView(LineView):
    """Shows passages; matches of a search are marked, and one of them is the current one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"passage-view--{name}" for name in ("found", "found-here", "removed", "added", "same")
    }

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._passages: list[Passage] = []
        self._names: Names = ()
        self._named: dict[int, list[Highlight]] = {}
        self._pattern: re.Pattern[str] | None = None
        self.matches: list[FoundPassage] = []
        """Every match of the search, in order."""
        self._found: dict[int, list[FoundPassage]] = {}
        self._current: FoundPassage | None = None

    def show_passages(self, shown: Sequence[Keyed], names: Names = ()) -> None:
        """Show these instead, and keep the scroll position."""
        self.unpin()
        self._passages = [keyed.passage for keyed in shown]
        self._names = names
        self._named.clear()
        paragraphs = [
            Paragraph(
                PieceKind.NOTICE if keyed.passage.is_title else PieceKind.GM,
                None,
                keyed.passage.text,
                keyed.key,
            )
            for keyed in shown
        ]
        self.rearrange(lambda: self.lines.show(paragraphs))
        self._search()
        self.refresh_bindings()

    @property
    def top_passage(self) -> int:
        """The paragraph at the top."""
        return self.lines.place(ScreenPos(0, self.scroll_offset.y)).paragraph if self.lines.height else 0

    # Searching

    @property
    def current(self) -> int | None:
        """The number of the current match, from 0; None without one."""
        return self.matches.index(self._current) if self._current in self.matches else None

    def search(self, needle: str) -> None:
        """Mark every match of `needle`; no match is current yet."""
        self._pattern = pattern_of(needle)
        self._current = None
        self._search()

    def go_to_match(self, number: int) -> None:
        """Make a match the current one, and scroll to it."""
        self.unpin()
        self._current = self.matches[number]
        self.position.show(SourcePos(self._current.paragraph, self._current.begin))
        self.refresh()

    def next_match(self, step: int) -> int | None:
        """Return the number of the next match (1) or the one before (-1); None beyond the last or first.

        Without a current match, count from the paragraph at the top.
        """
        here = self.current
        if here is None:
            top = self.top_passage
            first = sum(match.paragraph < top for match in self.matches)
            here = first - 1 if step > 0 else first
        number = here + step
        return number if 0 <= number < len(self.matches) else None

    def _search(self) -> None:
        self.matches = [
            FoundPassage(index, hit.start(), hit.end())
            for index, paragraph in enumerate(self.lines.paragraphs)
            for hit in (self._pattern.finditer(paragraph.text) if self._pattern else ())
        ]
        self._found = {}
        for match in self.matches:
            self._found.setdefault(match.paragraph, []).append(match)
        self.refresh()

    # Painting

    def highlights(self, line: int) -> list[Highlight]:
        """Return what is selected, what was found, headings, names and parts, in this order of precedence."""
        if (shown := self.lines.line(line)) is None:
            return []
        parts = super().highlights(line)
        index = self.lines.place(ScreenPos(0, line)).paragraph
        for match in self._found.get(index, ()):
            name = "found-here" if match == self._current else "found"
            style = self.get_component_rich_style(f"passage-view--{name}", partial=True)
            parts.append((match.begin, match.end, style))
        return without_overlap([*parts, *self._own(index), *self._parts_of(index, shown[1])])

    def _own(self, index: int) -> list[Highlight]:
        if index >= len(self._passages):
            return []
        passage = self._passages[index]
        parts = self._named.get(index)
        if parts is None:
            names = find_names(passage.text, self._names)
            parts = self._named[index] = [(begin, end, self._colour_of(slot)) for begin, end, slot in names]
        return [(0, passage.heading, _HEADING), *parts] if passage.heading else parts

    def _parts_of(self, index: int, span: Span) -> Iterator[Highlight]:
        """Yield the parts in one line: a long paragraph has thousands of them."""
        parts = self._passages[index].parts if index < len(self._passages) else ()
        first = max(0, bisect_right(parts, span.begin, key=lambda part: part[0]) - 1)
        for begin, end, name in takewhile(lambda part: part[0] < span.end, islice(parts, first, None)):
            yield begin, end, self.get_component_rich_style(f"passage-view--{name}", partial=True)

    def _colour_of(self, slot: Slot) -> Style:
        return Style(color=self.app.theme_variables[f"slot-{slot.colour}"])
