"""A list of rows paints what is in view, however many there are, and its cursor goes by key and click."""

import time

import pytest

from storyengine_tui.widgets.reading.column import Column
from storyengine_tui.widgets.reading.row_list import RowList
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = [pytest.mark.anyio, pytest.mark.paints]
COLUMNS = (Column("Name", 10), Column("", 6, is_number=True))


def made() -> tuple[WidgetApp, RowList[int], list[int]]:
    painted: list[int] = []

    def cells(row: int) -> tuple[str, str]:
        painted.append(row)
        return (f"[b]row[/b] {row}\x1b[31m\n", f"{row}")

    rows: RowList[int] = RowList(cells, lambda row: row % 2 == 1)
    return WidgetApp(lambda: [rows]), rows, painted


async def test_only_the_rows_in_view_are_painted() -> None:
    app, rows, painted = made()
    async with app.running() as pilot:
        painted.clear()
        began = time.thread_time()
        rows.show_rows(range(50_000), COLUMNS)
        await pilot.pause()
        assert set(painted) <= set(range(24))
        rows.focus()
        await pilot.press("end")
        assert rows.chosen == 49_999
        assert time.thread_time() - began < 5
        assert set(painted) <= {*range(24), *range(49_976, 50_000)}


async def test_keys_move_the_cursor_and_enter_chooses() -> None:
    app, rows, _ = made()
    async with app.running() as pilot:
        rows.show_rows(range(100), COLUMNS)
        rows.focus()
        await pilot.press("down", "down", "up", "pagedown")
        assert rows.chosen == 24
        assert rows.scroll_offset.y == 1
        assert rows.cursor_screen_offset == (0, 23), "screen readers go by the terminal's cursor"
        await pilot.press("pageup", "pageup", "home", "enter")
        assert rows.chosen == 0
        assert len(app.heard_of(RowList.Chosen)) == 1
        await pilot.click(rows, offset=(2, 5))
        assert rows.chosen == 5
        await pilot.click(rows, offset=(2, 5))
        await pilot.pause()
        assert len(app.heard_of(RowList.Chosen)) == 2


async def test_a_list_that_gets_shorter_keeps_a_cursor_in_it_and_one_without_rows_has_none() -> None:
    app, rows, _ = made()
    async with app.running() as pilot:
        rows.show_rows(range(100), COLUMNS, cursor=99)
        rows.show_rows(range(10), COLUMNS)
        assert rows.chosen == 9
        rows.show_rows((), COLUMNS)
        rows.focus()
        await pilot.press("down", "end", "enter", "pageup")
        assert rows.chosen is None
        assert not app.heard_of(RowList.Chosen)


async def test_what_is_in_a_row_never_acts() -> None:
    app, rows, _ = made()
    async with app.running() as pilot:
        rows.show_rows([7], COLUMNS)
        await pilot.pause()
        assert rows.render_line(0).text.startswith(" [b]row[/b…      7")
