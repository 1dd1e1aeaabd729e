"""The heading of a long memory fits the terminal."""

import pytest

from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from tests.tui.engine_app import Desktop
from tests.tui.rooms.chapter_page import SCRIPT, chapter_page, make_ended

pytestmark = pytest.mark.anyio


async def test_a_count_that_has_no_room_beside_the_keys_ends_in_an_ellipsis(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        cell = page.pane.query_one(MemoryCell)
        monkeypatch.setattr(cell.memory.pages, "_size", 1)
        cell._show()
        cell.say_work("words that say what is being done to a memory of thousands of blocks")
        await page.pilot.pause()
        earlier, later, count = (cell.query_one(name) for name in ("#earlier", "#later", "#memory-count"))
        assert later.region
        assert later.region.x - earlier.region.right == 1
        assert later.region.right <= count.region.x < count.region.right <= cell.region.right
