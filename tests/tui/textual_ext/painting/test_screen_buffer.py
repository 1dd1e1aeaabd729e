"""What is looked at to paint a row, and where it is put when nobody knows what the terminal shows."""

import pyte
import pytest

from storyengine_tui.textual_ext.painting import screen_buffer as terminal_rows
from storyengine_tui.textual_ext.painting.screen_buffer import (
    Cell,
    CellStyle,
    RowPatch,
    ScreenBuffer,
    StyledRun,
    cells_of,
)

pytestmark = pytest.mark.paints

PLAIN = CellStyle()


def test_a_row_without_surprises_is_looked_at_by_its_different_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at each cell of a page were a twentieth of a change of tab."""
    looks: list[Cell | None] = []
    monkeypatch.setattr(terminal_rows, "_is_doubtful", looks.append)
    ScreenBuffer(120, 1).paint([RowPatch(0, 0, cells_of([StyledRun(PLAIN, "xyz" * 40)]))])
    assert len(looks) <= 2 * len({*looks})


def test_what_stands_behind_the_lost_half_of_a_wide_character_keeps_its_place() -> None:
    screen, rows = pyte.Screen(24, 1), ScreenBuffer(24, 1)
    stream = pyte.Stream(screen)
    stream.feed(rows.paint([RowPatch(0, 0, cells_of([StyledRun(PLAIN, "🙂ab語cd")]))]))
    face, letter = (cells_of([StyledRun(PLAIN, text)]) for text in "🙃x")
    stream.feed(rows.paint([RowPatch(0, 0, face), RowPatch(0, 5, letter)]))
    assert [screen.buffer[0][column].data for column in (0, 2, 3, 5, 6, 7)] == ["🙃", *"abxcd"]
