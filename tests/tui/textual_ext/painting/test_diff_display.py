"""Painting by difference: the terminal shows the same as with plain output, and gets fewer bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from storyengine_tui.textual_ext.painting import screen_buffer as terminal_rows
from storyengine_tui.textual_ext.painting.compositor import DirtyPiece, Pieces, difference
from storyengine_tui.textual_ext.painting.diff_display import DiffDisplayApp
from storyengine_tui.textual_ext.painting.screen_buffer import (
    Cell,
    CellStyle,
    RowPatch,
    ScreenBuffer,
    StyledRun,
    cells_of,
)
from storyengine_tui.textual_ext.parts import PLAIN_OUTPUT, Part
from tests.tui.textual_ext.painting.two_terminals import Terminal

pytestmark = pytest.mark.paints

WIDTH, HEIGHT = 24, 10
RED, PLAIN = CellStyle("31"), CellStyle()


def plain(patches: list[RowPatch]) -> str:
    """Return what paints `patches` without looking at what was there."""
    out = []
    for y, x, cells in patches:
        out.append(f"\x1b[{y + 1};{x + 1}H")
        out.extend(f"\x1b[{cell.look.sgr}m{cell.text}\x1b[0m" for cell in cells)
    return "".join(out)


def row(text: str, look: CellStyle = PLAIN, width: int = WIDTH) -> list[Cell]:
    """Return `text` as the cells of a whole row."""
    cells = cells_of([StyledRun(look, text)])[:width]
    if cells and len(cells) == width and cells_of([StyledRun(look, cells[-1].text)])[1:]:
        cells[-1] = Cell(look, " ")  # Half of a wide character.
    return cells + cells_of([StyledRun(PLAIN, " ")]) * (width - len(cells))


# Rows


def test_a_changed_character_costs_its_own_bytes() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    rows.paint([RowPatch(2, 0, row("hello"))])
    assert rows.paint([RowPatch(2, 0, row("hallo"))]) == "\x1b[3;2Ha"
    assert rows.paint([RowPatch(2, 0, row("hallo"))]) == ""


def test_two_changes_far_apart_are_sent_apart() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    rows.paint([RowPatch(0, 0, row("a" + "-" * 20 + "b"))])
    assert rows.paint([RowPatch(0, 0, row("x" + "-" * 20 + "y"))]) == "\x1b[1;1Hx\x1b[1;22Hy"


def test_a_wide_character_is_sent_whole() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    rows.paint([RowPatch(0, 0, row("ab語"))])
    assert rows.paint([RowPatch(0, 0, row("ab木"))]) == "\x1b[1;3H木"
    rows.paint([RowPatch(0, 0, row("ab x"))])
    assert rows.paint([RowPatch(0, 0, row("ab語"))]).startswith("\x1b[1;3H語")


def test_a_wide_character_that_lost_a_half_is_sent_again() -> None:
    for half in (2, 3):
        rows, terminal = ScreenBuffer(WIDTH, HEIGHT), Terminal(WIDTH, HEIGHT)
        for patch in (RowPatch(0, 0, row("ab語cd")), RowPatch(0, half, cells_of([StyledRun(PLAIN, "x")]))):
            terminal.feed(rows.paint([patch]))
        terminal.feed(rows.paint([RowPatch(0, 0, row("ab語cd"))]))
        assert "".join(cell[0] for cell in terminal.shown()[0]).rstrip() == "ab語cd"


def test_a_combining_accent_is_a_change_of_its_character() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    rows.paint([RowPatch(0, 0, row("ete"))])
    assert rows.paint([RowPatch(0, 0, row("e\u0301te"))]) == "\x1b[1;1He\u0301"


DOUBTFUL = ["👩\u200d👩\u200d👧", "❤\ufe0f", "😀", "क्ष"]


@pytest.mark.parametrize("doubtful", DOUBTFUL)
def test_what_stands_behind_a_character_of_doubtful_width_is_where_it_belongs(doubtful: str) -> None:
    rows, terminal = ScreenBuffer(WIDTH, HEIGHT), Terminal(WIDTH, HEIGHT)
    column = next(x for x, cell in enumerate(row(f"ab{doubtful}|cdef")) if cell.text == "|")
    for text in (
        f"ab{doubtful}|cdef",
        f"xb{doubtful}|cdeF",
        f"xb{doubtful}|CdeF",
        f"x{doubtful}b|CdeF",
    ):
        terminal.feed(rows.paint([RowPatch(0, 0, row(text))]))
        assert "".join([cell[0] for cell in terminal.shown()[0]][column:]).rstrip() == text[text.index("|") :]


def test_what_stands_behind_a_doubtful_character_is_sent_with_it() -> None:
    """A terminal may have drawn it over its neighbours."""
    rows = ScreenBuffer(WIDTH, HEIGHT)
    rows.paint([RowPatch(0, 0, row("a 😀 b"))])
    assert rows.paint([RowPatch(0, 0, row("a 😁 b"))]).rstrip() == "\x1b[1;3H😁\x1b[1;5H b"
    assert rows.paint([RowPatch(0, 0, row("a __ b"))]).rstrip() == "\x1b[1;3H__ b"


def test_a_doubtful_character_is_not_sent_again_for_a_change_beside_it() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    rows.paint([RowPatch(0, 0, row("a 😀 b"))])
    assert rows.paint([RowPatch(0, 0, row("a 😀 c"))]) == "\x1b[1;6Hc"


def test_a_link_is_opened_and_closed() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    link = CellStyle("34", "https://example.org", "7")
    sent = rows.paint([RowPatch(0, 0, cells_of([StyledRun(link, "go")]))])
    assert sent == "\x1b[1;1H\x1b]8;id=7;https://example.org\x1b\\\x1b[34mgo\x1b]8;;\x1b\\\x1b[0m"


def test_no_control_character_gets_through() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    assert (
        rows.paint([RowPatch(0, 0, cells_of([StyledRun(PLAIN, "a\x1b]52;x\x07\x9bb語\x85")]))])
        == "\x1b[1;1Ha]52;xb語"
    )


def test_a_block_that_moved_is_moved_by_the_terminal() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    rows.paint([RowPatch(y, 0, row(f"line number {y}")) for y in range(HEIGHT)])
    sent = rows.paint([RowPatch(y, 0, row(f"line number {y + 1}")) for y in range(HEIGHT)])
    assert sent.startswith("\x1b[1;10r\x1b[10;1H\x1bD\x1b[r")
    assert "number 5" not in sent
    assert "line number 10" in sent


CHARS = ["a", "b", " ", "語", "木", "é"]
lines = st.lists(st.sampled_from(CHARS), max_size=30).map("".join)


@st.composite
def patches(draw: st.DrawFn) -> list[RowPatch]:
    """Return some patches: whole rows, parts of rows, or a screen that has scrolled."""
    look = draw(st.sampled_from([PLAIN, RED, CellStyle("1;44")]))
    if draw(st.booleans()):
        first = draw(st.integers(0, 30))
        return [
            RowPatch(y, 0, row(f"{first + y:03} {'語' * ((first + y) % 5)}", look)) for y in range(HEIGHT)
        ]
    found = []
    for y in draw(st.lists(st.integers(0, HEIGHT - 1), unique=True, max_size=HEIGHT)):
        x = draw(st.integers(0, WIDTH - 1))
        found.append(RowPatch(y, 0 if x % 2 else x, row(draw(lines), look, WIDTH if x % 2 else WIDTH - x)))
    return found


@given(st.lists(patches(), min_size=1, max_size=6))
def test_the_terminal_shows_what_plain_output_shows(frames: list[list[RowPatch]]) -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    ours, theirs = Terminal(WIDTH, HEIGHT), Terminal(WIDTH, HEIGHT)
    start = [RowPatch(y, 0, row("")) for y in range(HEIGHT)]
    for frame in [start, *frames]:
        ours.feed(rows.paint(frame))
        theirs.feed(plain(frame))
        known = [[cell is not None for cell in line] for line in rows._rows]
        for y, (mine, other) in enumerate(zip(ours.shown(), theirs.shown(), strict=True)):
            for x, (one, two) in enumerate(zip(mine, other, strict=True)):
                assert one == two or not known[y][x], (y, x)


@pytest.mark.needs(Part.DIFF_DISPLAY)
def test_turned_off_it_hands_textual_what_textual_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAIN_OUTPUT, "1")
    assert not DiffDisplayApp()._paints_by_difference
    monkeypatch.delenv(PLAIN_OUTPUT)
    assert DiffDisplayApp()._paints_by_difference


def test_a_new_row_is_looked_at_once_for_every_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadratic looks were a sixth of all the work of a start."""
    looks = 0
    is_doubtful = terminal_rows._is_doubtful

    def counted(cell: Cell | None) -> bool:
        nonlocal looks
        looks += 1
        return is_doubtful(cell)

    monkeypatch.setattr(terminal_rows, "_is_doubtful", counted)
    ScreenBuffer(120, 1).paint([RowPatch(0, 0, row("x" * 120, width=120))])
    assert looks <= 4 * 120


def test_what_looks_the_same_is_one_cell_however_often_it_is_painted() -> None:
    """A page has thousands, which are made and compared for every paint of it."""
    first, again = (cells_of([StyledRun(RED, "ab語a")]) for _ in range(2))
    assert [*map(id, first)] == [*map(id, again)]
    assert len({*map(id, first)}) == len({*first})


def test_lines_that_look_the_same_are_remembered_as_one_look() -> None:
    """Each knows where it stands in the source; remembered by that, they were the growth of an evening."""
    rows = ScreenBuffer(WIDTH, HEIGHT)
    known = Strip.render_ansi.cache_info().currsize
    for line in range(200):
        style = Style(color="#123456", bold=True, meta={"offset": (0, line)})
        difference(
            rows, Pieces([DirtyPiece(0, 0, Strip([Segment(f"line {line}", style)]))]), ColorSystem.TRUECOLOR
        )
    assert Strip.render_ansi.cache_info().currsize <= known + 1


def test_what_was_laid_out_for_a_larger_terminal_does_no_harm() -> None:
    rows = ScreenBuffer(WIDTH, HEIGHT)
    for x, y in ((WIDTH + 5, 0), (WIDTH, 1), (2, HEIGHT), (WIDTH - 2, 2)):
        rows.paint([RowPatch(y, x, row("abcdef", width=6))])
    assert rows.paint([RowPatch(0, 0, row("whole")), RowPatch(2, 0, row("whole"))])
    assert all(len(line) == WIDTH for line in rows._rows)
