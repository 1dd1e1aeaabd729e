"""A character of the chapter beside the one of the library: where two long texts differ is shown."""

import pytest
from textual.widgets import DataTable

from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from storyengine_tui.screens.setup.casting.casting import PickScreen
from storyengine_tui.screens.setup.casting.compare_screen import CompareScreen
from tests.tui.engine_app import Desktop, screen_text, until

SAME = "She keeps the lamp of the last harbour. " * 40


async def make_long_ones(engine: Engine) -> None:
    """Store a character whose end is another one in the library than in the chapter."""
    await engine.library.characters.create("Kara", f"{SAME}She limps since the storm.")
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(
        Tab1Edit(names={Slot.RED: "Kara"}, identities={Slot.RED: f"{SAME}She walks."})
    )
    await session.aclose()


@pytest.mark.anyio
async def test_texts_that_differ_at_their_end_show_that_end_on_both_sides(desktop: Desktop) -> None:
    async with desktop.window(make_long_ones) as (pilot, app):
        app.action_take_character()
        await until(pilot, lambda: isinstance(app.screen, PickScreen) and app.screen.chosen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and app.screen.rows)
        table = app.screen.query_one(DataTable)
        # The name is the same: the cursor is on the first field that differs.
        assert table.cursor_row == 1
        cells = [str(cell) for cell in table.get_row_at(1)]
        assert cells == ["Identity", "…harbour. She walks.", "…harbour. She limps since the storm.", ""]
        await until(pilot, lambda: screen_text(app).count("walks.") == 2)
        await until(pilot, lambda: screen_text(app).count("limps") == 2)
