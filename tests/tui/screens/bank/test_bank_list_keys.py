"""The keys of a list of the memory bank, where they have nothing to act on."""

import pytest

from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.memory.item_list_reader import NO_OTHERS
from tests.tui.engine_app import Desktop
from tests.tui.rooms.bank_tab import tab3

pytestmark = pytest.mark.anyio


async def test_f_says_where_a_list_has_nothing_to_tell_apart(desktop: Desktop) -> None:
    async with tab3(desktop) as tab:
        await tab.until(lambda: tab.items._painted, "the rows are painted")
        await tab.press("1", "3")
        await tab.until(lambda: tab.count.endswith("8 new in lists 4 to 7"))
        await tab.press("f")
        await tab.said(NO_OTHERS)
        assert len(tab.names) == 2


async def test_a_list_without_items_offers_no_key_that_does_something_with_one(desktop: Desktop) -> None:
    async with tab3(desktop, size=(120, 40)) as tab:
        await tab.until(lambda: {"Confirm", "Edit", "Add", "Undo", "Mark"} <= tab.offered)
        await tab.press("a", "x")
        await tab.until(lambda: tab.names == [] and "Confirm" not in tab.offered)
        assert not tab.offered & {"Confirm", "Edit", "Pin", "Merge", "Reject", "Mark"}
        assert {"Add", "Undo"} <= tab.offered
        # A key that is not possible is not typed into another field.
        await tab.press("c", "e", "space")
        assert not tab.app.chapter.query_one(DefinitionCell).area.text
        await tab.press("u")
        await tab.until(lambda: len(tab.names) == 2 and "Confirm" in tab.offered)
