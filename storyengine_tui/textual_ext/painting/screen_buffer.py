"""A copy of a terminal's content, and the fewest bytes that turn it into other content.

Pure: it takes rows of cells and returns escape sequences. A cell holds a grapheme; the cells after a wide one
are empty. Where terminals disagree about a character's width, the cursor is positioned again behind it, so
that the disagreement is limited to that character.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from rich.cells import split_graphemes

from storyengine_tui.textual_ext.painting.cell_width import is_plain


class CellStyle(NamedTuple):
    """Style of text: the parameters of SGR, and its link."""

    sgr: str = ""
    link: str = ""
    link_id: str = ""


class Cell(NamedTuple):
    """One cell: a character, or nothing behind a wide one."""

    look: CellStyle
    text: str


class StyledRun(NamedTuple):
    """Text of one look."""

    look: CellStyle
    text: str


class RowPatch(NamedTuple):
    """Cells of row `y` that change, from column `x` on."""

    y: int
    x: int
    cells: list[Cell]


Row = list[Cell | None]
"""Content of a row; None where it is unknown."""

PLAIN: Final = CellStyle()
_BRIDGE: Final = 6
"""This many equal cells between two different ones are sent again: moving the cursor costs as much."""
_LEAST_BLOCK: Final = 6
_LEAST_GAIN: Final = 3
_NO_ACCENT: Final = (0, 9)  # 9 is a virama, which may join what follows.
_MOST_KNOWN: Final = 2_000
_LOOK: Final = attrgetter("look")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def cells_of(runs: Iterable[StyledRun]) -> list[Cell]:
    """Return `runs` as cells. Control characters are dropped."""
    cells: list[Cell] = []
    for look, text in runs:
        known = _known_cells(look)
        if is_plain(text):
            cells.extend(map(known.__getitem__, text))
            continue
        printable = _CONTROLS.sub("", text)
        for begin, end, width in split_graphemes(printable)[0]:
            if width:
                cells.append(known[printable[begin:end]])
                cells.extend([known[""]] * (width - 1))
            else:
                _join(cells, printable[begin:end])
    return cells


class _KnownCells(dict[str, Cell]):
    """The cells of one style; equal cells are one object, since thousands are compared for a page."""

    def __init__(self, look: CellStyle) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, text: str) -> Cell:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        cell = self[text] = Cell(self._look, text)
        return cell


@lru_cache(maxsize=256)
def _known_cells(look: CellStyle) -> _KnownCells:
    return _KnownCells(look)


def _join(cells: list[Cell], mark: str) -> None:
    """Add a character without width to the one before it, if there is one."""
    for index in range(len(cells) - 1, -1, -1):
        if cells[index].text:
            cells[index] = Cell(cells[index].look, cells[index].text + mark)
            return


class ScreenBuffer:
    """Remembers the rows of a terminal of some size, and paints by difference."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._rows: list[Row] = [[None] * width for _ in range(height)]

    def paint(self, patches: Sequence[RowPatch]) -> str:
        """Return the bytes that apply `patches` to the terminal, and update the copy."""
        wanted: dict[int, Row] = {}
        for patch in patches:
            # A page that was laid out for a larger terminal may still arrive.
            if 0 <= patch.y < self.height and 0 <= patch.x < self.width:
                row = wanted.setdefault(patch.y, self._rows[patch.y].copy())
                _put(row, patch)
        pen = _AnsiWriter()
        self._scroll(wanted, pen)
        for y, row in sorted(wanted.items()):
            is_irregular = _is_irregular(self._rows[y]) or _is_irregular(row)
            for begin, end in _differences(self._rows[y], row, is_irregular=is_irregular):
                write = pen.write if is_irregular else pen.write_plain
                write(y, begin, row[begin:end])
            self._rows[y] = row
        return pen.finished()

    def _scroll(self, wanted: dict[int, Row], pen: "_AnsiWriter") -> None:
        """Make the terminal scroll a block of rows, where that saves bytes."""
        move = _movement(self._rows, wanted)
        if move is None:
            return
        top, bottom, up = move
        for y in range(top, bottom + 1):
            wanted.setdefault(y, self._rows[y])
        block = self._rows[top : bottom + 1]
        fresh: list[Row] = [[None] * self.width for _ in range(abs(up))]
        moved = block[up:] + fresh if up > 0 else fresh + block[:up]
        self._rows[top : bottom + 1] = moved
        pen.scroll(top, bottom, up)


def _put(row: Row, patch: RowPatch) -> None:
    """Put `patch` into `row`. What a terminal shows of a wide character that lost a half is unknown."""
    width, begin = len(row), patch.x
    end = min(begin + len(patch.cells), width)
    if begin < width and _is_continuation(row[begin]):
        first, _ = _whole(row, begin)
        row[first:begin] = [None] * (begin - first)
    if end < width and _is_continuation(row[end]):
        _, last = _whole(row, end)
        row[end:last] = [None] * (last - end)
    row[begin:end] = patch.cells[: end - begin]


def _differences(old: Row, new: Row, *, is_irregular: bool) -> list[tuple[int, int]]:
    """Return the ranges of cells to send, in order.

    A range with a character of doubtful width goes to the end of the row: whatever width the terminal gives
    that character, what is behind it is painted again.
    """
    if old == new:
        return []
    pairs = enumerate(zip(old, new, strict=True))
    changed = [column for column, (before, after) in pairs if before is not after and before != after]
    if not is_irregular and None not in new:
        return _joined(changed)
    ranges: list[tuple[int, int]] = []
    for column in changed:
        if new[column] is None:
            continue
        begin = fresh = column
        if ranges and begin - ranges[-1][1] <= _BRIDGE and None not in new[ranges[-1][1] : begin]:
            begin, fresh = ranges.pop()
        # What the range held before is known not to be doubtful.
        if _is_doubtful(old[column]) or any(map(_is_doubtful, new[fresh : column + 1])):
            return [*ranges, (begin, len(new))]
        ranges.append((begin, column + 1))
    return ranges


def _joined(changed: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges of the `changed` columns; ranges with a short gap between them are one."""
    ranges: list[tuple[int, int]] = []
    begin = end = changed[0]
    for column in changed:
        if column - end > _BRIDGE:
            ranges.append((begin, end))
            begin = column
        end = column + 1
    return [*ranges, (begin, end)]


def _is_irregular(row: Row) -> bool:
    """Whether a character in it is not plain: wide, combined, or of a doubtful width."""
    return not is_plain("".join([cell.text for cell in row if cell is not None]))


def _whole(row: Row, column: int) -> tuple[int, int]:
    """Return the cells of the character that `column` belongs to."""
    begin, end = column, column + 1
    while begin > 0 and _is_continuation(row[begin]):
        begin -= 1
    while end < len(row) and _is_continuation(row[end]):
        end += 1
    return begin, end


def _is_continuation(cell: Cell | None) -> bool:
    return cell is not None and not cell.text


def _is_doubtful(cell: Cell | None) -> bool:
    """Whether terminals disagree about the width: emoji, what is joined, Indic clusters."""
    if cell is None or cell.text.isascii():
        return False
    return cell.text[0] >= "\U0001f000" or any(
        unicodedata.combining(char) in _NO_ACCENT for char in cell.text[1:]
    )


def _movement(rows: Sequence[Row], wanted: dict[int, Row]) -> tuple[int, int, int] | None:
    """Return first row, last row and how far up (or, negative, down) a block is best moved, if at all."""
    top, bottom = _longest_run(sorted(y for y, row in wanted.items() if row != rows[y]), wanted)
    size = bottom - top + 1
    if size < _LEAST_BLOCK:
        return None
    # By identity: where equal cells are different objects, a movement is missed and the rows are sent.
    old = [hash(tuple(map(id, row))) for row in rows[top : bottom + 1]]
    new = [hash(tuple(map(id, wanted[y]))) for y in range(top, bottom + 1)]
    equal = sum(before == after for before, after in zip(old, new, strict=True))
    best, best_gain = 0, 0
    for distance in range(1, size - _LEAST_GAIN):
        for up in (distance, -distance):
            pairs = zip(old[up:], new, strict=False) if up > 0 else zip(old, new[-up:], strict=False)
            gain = sum(before == after for before, after in pairs) - equal - distance // 2
            if gain > best_gain:
                best, best_gain = up, gain
    return (top, bottom, best) if best_gain > _LEAST_GAIN else None


def _longest_run(changed: list[int], wanted: dict[int, Row]) -> tuple[int, int]:
    """Return the ends of the longest run of rows that are to be painted, from a changed one to another."""
    best = (0, -1)
    first = 0
    for index, y in enumerate(changed):
        if index and any(between not in wanted for between in range(changed[index - 1], y)):
            first = index
        if y - changed[first] > best[1] - best[0]:
            best = (changed[first], y)
    return best


class _AnsiWriter:
    """Writes cells, and sends a style only where it changes."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._look = PLAIN

    def scroll(self, top: int, bottom: int, up: int) -> None:
        """Move the rows from `top` to `bottom`: index at the last line, reverse index at the first."""
        row, step = (bottom, "\x1bD" * up) if up > 0 else (top, "\x1bM" * -up)
        self._out.append(f"\x1b[{top + 1};{bottom + 1}r\x1b[{row + 1};1H{step}\x1b[r")

    def write(self, y: int, x: int, cells: Sequence[Cell | None]) -> None:
        """Write `cells` from there on, and position the cursor again behind every doubtful one."""
        out, pen, is_lost = self._out, self._look, True
        for column, cell in enumerate(cells, x):
            if cell is None:
                is_lost = True
                continue
            look, text = cell
            if not text:
                continue
            if is_lost:
                out.append(f"\x1b[{y + 1};{column + 1}H")
            if look is not pen and look != pen:
                out.append(_change(pen, look))
                pen = look
            out.append(text)
            is_lost = not text.isascii() and _is_doubtful(cell)
        self._look = pen

    def write_plain(self, y: int, x: int, cells: Sequence[Cell | None]) -> None:
        """Write `cells`, all of them known and none of them doubtful, from there on."""
        self._out.append(f"\x1b[{y + 1};{x + 1}H")
        for look, group in groupby(filter(None, cells), key=_LOOK):
            if look != self._look:
                self._out.append(_change(self._look, look))
                self._look = look
            self._out.append("".join([cell.text for cell in group]))

    def finished(self) -> str:
        if self._look != PLAIN:
            self._out.append(_change(self._look, PLAIN))
            self._look = PLAIN
        return "".join(self._out)


def _change(old: CellStyle, new: CellStyle) -> str:
    """Return the sequence that changes one style to another."""
    link = ""
    if (old.link, old.link_id) != (new.link, new.link_id):
        link = f"\x1b]8;id={new.link_id};{new.link}\x1b\\" if new.link else "\x1b]8;;\x1b\\"
    if old.sgr == new.sgr:
        return link
    if not new.sgr:
        return link + "\x1b[0m"
    return link + (f"\x1b[0;{new.sgr}m" if old.sgr else f"\x1b[{new.sgr}m")
