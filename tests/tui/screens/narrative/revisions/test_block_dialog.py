"""Tab 3: the dialog in which a block of memory is edited."""

import json

import pytest
from textual.widgets import Button, Static

from storyengine_tui.screens.narrative.revisions.revision_modals import BlockModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop
from tests.tui.screens.narrative.revisions.test_memory_revisions import at_memory

pytestmark = pytest.mark.anyio


async def test_a_block_to_edit_has_the_rows_of_a_low_terminal_also_below_a_refusal(desktop: Desktop) -> None:
    async with at_memory(desktop) as (page, revising):
        await page.pilot.resize_terminal(80, 24)
        await revising.press_at("Prompts 8–14", "w")
        dialog = await revising.dialog(BlockModal)
        area, add = dialog.query_one(CappedTextArea), dialog.query_one("#add", Button)
        await page.until(lambda: area.size.height == 10)
        area.load_text("")
        await page.pilot.press(*'{"x')
        await page.until(lambda: not add.disabled)
        add.press()
        await page.until(lambda: dialog.query_one("#refused").display)
        await page.until(lambda: area.size.height < 10)
        assert area.size.height >= 7
        assert add.region.bottom < 23, "and the row of keys stays in sight"


@pytest.mark.parametrize("size", [(120, 36), (80, 36), (120, 40)])
async def test_a_refusal_of_many_lines_takes_rows_of_the_text_and_leaves_the_buttons_in_sight(
    desktop: Desktop, size: tuple[int, int]
) -> None:
    async with at_memory(desktop) as (page, revising):
        await page.pilot.resize_terminal(*size)
        await revising.press_at("Prompts 8–14", "w")
        dialog = await revising.dialog(BlockModal)
        area, add, refused = (dialog.query_one(name) for name in ("CappedTextArea", "#add", "#refused"))
        assert isinstance(area, CappedTextArea)
        assert isinstance(add, Button)
        await page.until(lambda: area.size.height >= 19)
        area.load_text(json.dumps(dict.fromkeys(json.loads(area.text), 5)))
        await page.pilot.press("space")
        await page.until(lambda: not add.disabled)
        add.press()
        await page.until(lambda: refused.size.height > 5 and area.size.height < 19)
        assert add.region.bottom < size[1] - 1, "and the row of keys stays in sight"


async def test_an_edit_of_a_block_that_was_made_again_behind_the_dialog_is_refused_and_the_text_stays(
    desktop: Desktop,
) -> None:
    async with at_memory(desktop) as (page, revising):
        await revising.press_at("Prompts 8–14", "w")
        dialog = await revising.dialog(BlockModal)
        area = dialog.query_one(CappedTextArea)
        takes = page.session.takes
        await page.session.wait(await takes.rebuild_block(14, model="other"))
        area.load_text(json.dumps({**json.loads(area.text), "canon_locks": ["Mine."]}))
        await page.pilot.press("space")
        add = dialog.query_one("#add", Button)
        await page.until(lambda: not add.disabled)
        add.press()
        refused = dialog.query_one("#refused", Static)
        await page.until(lambda: "made again meanwhile" in str(refused.content))
        assert "Mine." in area.text
        assert not any(block.is_by_gm for block in await page.session.reads.memory_blocks())
