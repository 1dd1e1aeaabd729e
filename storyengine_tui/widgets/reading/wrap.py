"""Breaks text into lines of at most some cells, and lines into the fragments that are painted.

Positions are indices into the source text, which is never changed: a line is a span of it, and what is
painted knows where in the source it came from. So a copy has no soft breaks and no expanded tabs.
"""

from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes

from core.text.graphemes import is_safe_cut
from storyengine_tui.textual_ext.painting.cell_width import is_plain

TAB_SIZE = 4

_NEVER_FIRST = frozenset("、。，．・：；？！）」』】〉》〕］｝ー…”’")
"""Characters that East Asian text does not put at the beginning of a line."""
_NEVER_LAST = frozenset("（「『【〈《〔［｛")
"""Those that it does not put at the end."""


class Span(NamedTuple):
    """One line as `text[begin:end]`; the white space of a soft break lies between two spans."""

    begin: int
    end: int


class Fragment(NamedTuple):
    """Cells painted for the source text at `offset`; a tab yields several of these, one a cell."""

    text: str
    offset: int


def wrap(text: str, start: int, width: int) -> list[Span]:
    """Return the lines of `text[start:]` in at most `width` cells each; there is always one.

    Greedy, so lines before the last never change when the text grows: a stream wraps its last line only.
    """
    width = max(1, width)
    spans: list[Span] = []
    while True:
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        _wrap_one(text, start, end, width, spans)
        if newline < 0:
            return spans
        start = newline + 1


def _wrap_one(text: str, begin: int, end: int, width: int, spans: list[Span]) -> None:
    """Append the lines of `text[begin:end]`, which has no line break, to `spans`."""
    last = max(begin, begin + len(text[begin:end].rstrip(" ")))
    while True:
        cut = _fitting_end(text, begin, end, width)
        if cut >= end or cut >= last:
            spans.append(Span(begin, cut))
            return
        stop = _break_before(text, begin, cut)
        spans.append(Span(begin, stop))
        begin = stop
        while begin < end and text[begin] == " ":
            begin += 1


def _fitting_end(text: str, begin: int, end: int, width: int) -> int:
    """Return how far `text` from `begin` on fits into `width` cells; one character always does."""
    near = min(end, begin + width)
    # The next character may combine with the last, as an accent does.
    if is_plain(text[begin:near]) and (near == end or is_plain(text[near])):
        return near
    return _measured_end(text, begin, end, width)


def _measured_end(text: str, begin: int, end: int, width: int) -> int:
    size = width + 16
    while True:
        chunk = text[begin : min(end, begin + size)]
        used = 0
        for cluster in _clusters(chunk):
            used += cluster.cells
            if used > width:
                return _safe(text, begin, begin + cluster.begin)
        if begin + size >= end:
            return end
        size *= 2  # Many characters without width of their own.


def _safe(text: str, begin: int, cut: int) -> int:
    """Move `cut` back to where it splits no grapheme, but never to `begin`."""
    position = cut
    while position > begin and not is_safe_cut(text, position):
        position -= 1
    return position if position > begin else max(cut, begin + 1)


def _break_before(text: str, begin: int, cut: int) -> int:
    """Return where to break a line that must end at `cut` at the latest."""
    for position in range(cut, begin, -1):
        before, after = text[position - 1], text[position]
        if after in " \t" or before == "\t":
            stop = begin + len(text[begin:position].rstrip(" "))
            if stop > begin:
                return stop
        elif (
            _is_wide(before)
            and not (before in _NEVER_LAST or after in _NEVER_FIRST)
            and is_safe_cut(text, position)
        ):
            return position
    return cut


def _is_wide(char: str) -> bool:
    return not char.isascii() and cell_len(char) == 2


def fragments(text: str, span: Span, column: int = 0) -> list[Fragment]:
    """Return what to paint for `span` of `text`, from `column` on, each piece with the place it came from.

    Tabs become spaces up to the next stop. A grapheme of several code points is a fragment of its own,
    so that a click finds its beginning.
    """
    begin, end = span
    line = text[begin:end]
    if is_plain(line):
        return [Fragment(line, begin)]
    pieces: list[Fragment] = []
    run = 0
    for cluster in _clusters(line, column):
        if cluster.is_tab or cluster.end - cluster.begin > 1:
            if run < cluster.begin:
                pieces.append(Fragment(line[run : cluster.begin], begin + run))
            shown = [" "] * cluster.cells if cluster.is_tab else [line[cluster.begin : cluster.end]]
            pieces.extend(Fragment(part, begin + cluster.begin) for part in shown)
            run = cluster.end
    if run < len(line):
        pieces.append(Fragment(line[run:], begin + run))
    return pieces


class _Cluster(NamedTuple):
    """A grapheme or a tab: `begin` and `end` are indices into the measured text."""

    begin: int
    end: int
    cells: int
    is_tab: bool


def _clusters(text: str, column: int = 0) -> Iterator[_Cluster]:
    """Yield the graphemes of one line, and its tabs with their width at their column."""
    position = 0
    for number, part in enumerate(text.split("\t")):
        if number:
            cells = TAB_SIZE - column % TAB_SIZE
            yield _Cluster(position, position + 1, cells, is_tab=True)
            column, position = column + cells, position + 1
        for begin, end, cells in split_graphemes(part)[0]:
            yield _Cluster(position + begin, position + end, cells, is_tab=False)
            column += cells
        position += len(part)
