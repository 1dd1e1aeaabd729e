"""The transcript as lines on a screen of some width, and the way back to its source text.

Pure: no widget, no colour. Paragraphs are the pieces of a window (design 9); between two of them one line
is blank. A stream grows the last paragraph and wraps its last line only.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.transcript import SEPARATOR, PieceKind, TranscriptPiece
from core.text.cleaning import clean
from core.text.graphemes import is_safe_cut
from storyengine_tui.widgets.reading.wrap import Span, wrap


class SourcePos(NamedTuple):
    """A place in the source: which paragraph, and which character of it."""

    paragraph: int
    offset: int


class ScreenPos(NamedTuple):
    """A place on the screen: which character of the source line, counted in that line, and which line."""

    x: int
    y: int


@dataclass(slots=True)
class Paragraph:
    """One piece with its lines; `first` is the number of its first line."""

    kind: PieceKind
    slot: Slot | None
    text: str
    key: object
    """Identifies it in the next window: the event's id, or the kind of the piece."""
    mark: int = 0
    """Number of characters at the beginning of `text` that name its witnesses; no part of the story."""
    quoted: tuple[tuple[int, int], ...] = ()
    """The parts of `text`, in order, that are kept as quotes."""
    first: int = 0
    spans: list[Span] = field(default_factory=list)


class SourceAnchor(NamedTuple):
    """A place that can be found again after the paragraphs have changed."""

    key: object
    text: str
    offset: int


Quoted = Callable[[Event, str], tuple[tuple[int, int], ...]]
"""Returns which parts of an event, as its paragraph shows it without the mark, are quotes."""


def nothing_quoted(event: Event, text: str) -> tuple[tuple[int, int], ...]:
    """Return that nothing of an event is a quote."""
    return ()


def paragraph_of(piece: TranscriptPiece, mark: str = "", quoted: Quoted = nothing_quoted) -> Paragraph:
    """Return the paragraph for `piece`, without control characters, after its `mark`."""
    key = piece.kind if piece.event is None else piece.event.id
    mark, text = clean(mark), clean(piece.text)
    found = () if piece.event is None else quoted(piece.event, text)
    parts = tuple((len(mark) + begin, len(mark) + end) for begin, end in found)
    return Paragraph(piece.kind, piece.slot, mark + text, key, len(mark), parts)


class TranscriptLines:
    """All paragraphs, wrapped. Methods that change it return the first line that may look different."""

    def __init__(self) -> None:
        self._width = 0
        self._paragraphs: list[Paragraph] = []
        self._firsts: list[int] = []

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """The paragraphs, oldest first."""
        return self._paragraphs

    @property
    def height(self) -> int:
        """The number of lines."""
        if not self._paragraphs:
            return 0
        return self._paragraphs[-1].first + len(self._paragraphs[-1].spans)

    @property
    def end(self) -> SourcePos:
        """The place behind the last character."""
        if not self._paragraphs:
            return SourcePos(0, 0)
        return SourcePos(len(self._paragraphs) - 1, len(self._paragraphs[-1].text))

    @property
    def text(self) -> str:
        """The whole source text."""
        return SEPARATOR.join(paragraph.text for paragraph in self._paragraphs)

    # Changing it

    def set_width(self, width: int) -> int:
        """Wrap everything to `width` cells."""
        self._width = width
        for paragraph in self._paragraphs:
            paragraph.spans = self._wrapped(paragraph.text)
        self._number(0)
        return 0

    def show(self, paragraphs: Sequence[Paragraph]) -> int:
        """Show these instead; what was wrapped before is not wrapped again."""
        known = {(old.kind, old.slot, old.text): old.spans for old in self._paragraphs}
        same = 0
        for old, new in zip(self._paragraphs, paragraphs, strict=False):
            if (old.kind, old.slot, old.text, old.quoted) != (new.kind, new.slot, new.text, new.quoted):
                break
            same += 1
        for paragraph in paragraphs:
            spans = known.get((paragraph.kind, paragraph.slot, paragraph.text))
            paragraph.spans = self._wrapped(paragraph.text) if spans is None else list(spans)
        self._paragraphs = list(paragraphs)
        self._number(0)
        return self._start_of(same)

    def add(self, paragraph: Paragraph) -> int:
        """Add one at the end."""
        paragraph.spans = self._wrapped(paragraph.text)
        self._paragraphs.append(paragraph)
        self._number(len(self._paragraphs) - 1)
        return paragraph.first

    def grow(self, text: str) -> int:
        """Add `text` to the last paragraph."""
        last = self._paragraphs[-1]
        last.text += text
        begin = last.spans.pop().begin
        dirty = last.first + len(last.spans)
        last.spans += wrap(last.text, begin, self._width)
        return dirty

    def _wrapped(self, text: str) -> list[Span]:
        return wrap(text, 0, self._width) if self._width else [Span(0, len(text))]

    def _number(self, index: int) -> None:
        """Number lines from paragraph `index` on."""
        del self._firsts[index:]
        line = 0
        if index:
            before = self._paragraphs[index - 1]
            line = before.first + len(before.spans) + 1
        for paragraph in self._paragraphs[index:]:
            paragraph.first = line
            self._firsts.append(line)
            line += len(paragraph.spans) + 1

    def _start_of(self, index: int) -> int:
        return self._firsts[index] if index < len(self._firsts) else self.height

    # From the screen to the source and back

    def line(self, y: int) -> tuple[Paragraph, Span] | None:
        """Return what line `y` shows, or None for a blank line and beyond the end."""
        index = bisect_right(self._firsts, y) - 1
        if index < 0:
            return None
        paragraph = self._paragraphs[index]
        row = y - paragraph.first
        return (paragraph, paragraph.spans[row]) if row < len(paragraph.spans) else None

    def place(self, spot: ScreenPos) -> SourcePos:
        """Return the source of a place on the screen; beyond an end, that end."""
        if not self._paragraphs or spot.y < 0:
            return SourcePos(0, 0)
        index = bisect_right(self._firsts, spot.y) - 1
        paragraph = self._paragraphs[index]
        row = spot.y - paragraph.first
        if row >= len(paragraph.spans):
            return SourcePos(index, len(paragraph.text))
        begin, end = paragraph.spans[row]
        return SourcePos(index, max(begin, min(begin + spot.x, end)))

    def spot(self, place: SourcePos) -> ScreenPos:
        """Return where a place of the source is on the screen."""
        if not self._paragraphs:
            return ScreenPos(0, 0)
        paragraph = self._paragraphs[place.paragraph]
        begins = [span.begin for span in paragraph.spans]
        row = max(0, bisect_right(begins, place.offset) - 1)
        begin, end = paragraph.spans[row]
        return ScreenPos(min(place.offset, end) - begin, paragraph.first + row)

    def mark(self, place: SourcePos) -> SourceAnchor | None:
        """Return an anchor, by which `recall` finds `place` again."""
        if not self._paragraphs:
            return None
        paragraph = self._paragraphs[place.paragraph]
        return SourceAnchor(paragraph.key, paragraph.text, place.offset)

    def recall(self, mark: SourceAnchor) -> SourcePos | None:
        """Return where an anchor is now: in the same piece, else in one of the same text."""
        found = self.paragraph_with(mark.key)
        if found is None:
            found = self._index_of(lambda paragraph: paragraph.text == mark.text)
        if found is None:
            return None
        return SourcePos(found, min(mark.offset, len(self._paragraphs[found].text)))

    def paragraph_with(self, key: object) -> int | None:
        """Return the number of the paragraph with a key."""
        return self._index_of(lambda paragraph: paragraph.key == key)

    def _index_of(self, is_it: Callable[[Paragraph], bool]) -> int | None:
        return next((index for index, paragraph in enumerate(self._paragraphs) if is_it(paragraph)), None)

    def step(self, place: SourcePos, characters: int) -> SourcePos:
        """Return the place one character on (1) or back (-1), over the ends of paragraphs."""
        if not self._paragraphs:
            return place
        index, offset = place
        text = self._paragraphs[index].text
        offset += characters
        while 0 < offset < len(text) and not is_safe_cut(text, offset):
            offset += characters
        if offset < 0:
            return SourcePos(index - 1, len(self._paragraphs[index - 1].text)) if index else SourcePos(0, 0)
        if offset > len(text):
            return (
                SourcePos(index + 1, 0) if index + 1 < len(self._paragraphs) else SourcePos(index, len(text))
            )
        return SourcePos(index, offset)

    def snapped(self, start: SourcePos, end: SourcePos) -> tuple[SourcePos, SourcePos]:
        """Widen a range so that it splits no grapheme."""
        if not self._paragraphs:
            return start, end
        first, last = self._paragraphs[start.paragraph].text, self._paragraphs[end.paragraph].text
        left, right = start.offset, end.offset
        while left > 0 and not is_safe_cut(first, left):
            left -= 1
        while right < len(last) and not is_safe_cut(last, right):
            right += 1
        return SourcePos(start.paragraph, left), SourcePos(end.paragraph, right)

    def text_between(self, start: SourcePos, end: SourcePos, *, with_marks: bool = False) -> str:
        """Return the source text from `start` to `end`, with or without the marks of who heard it."""
        if not self._paragraphs:
            return ""
        chosen = self._paragraphs[start.paragraph : end.paragraph + 1]
        parts = []
        for index, paragraph in enumerate(chosen, start.paragraph):
            first = start.offset if index == start.paragraph else 0
            last = end.offset if index == end.paragraph else len(paragraph.text)
            parts.append(paragraph.text[first if with_marks else max(first, paragraph.mark) : last])
        return SEPARATOR.join(parts)

    def has_marks(self, start: SourcePos, end: SourcePos) -> bool:
        """Whether a mark of who heard a paragraph begins between `start` and `end`."""
        chosen = self._paragraphs[start.paragraph : end.paragraph + 1]
        return any(
            paragraph.mark and (index > start.paragraph or start.offset < paragraph.mark)
            for index, paragraph in enumerate(chosen, start.paragraph)
        )
