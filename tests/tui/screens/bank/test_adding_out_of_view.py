"""An item that is added and is not among those that show: the list says where it is, or why it is hidden."""

import pytest
from textual.widgets import Input, Select

from core.domain.bank.details import ItemKind
from storyengine_tui.screens.bank.item_modal import AddItemModal
from storyengine_tui.screens.bank.sheet_modal import SheetModal
from tests.tui.engine_app import Desktop, screen_text
from tests.tui.rooms.bank_tab import Tab, tab3

pytestmark = pytest.mark.anyio


async def add(tab: Tab, name: str, kind: ItemKind | None = None, *, without: str = "") -> None:
    """Add an item of the list's kind or of another, which that character does not know."""
    await tab.press("plus")
    await tab.until(lambda: isinstance(tab.app.screen, AddItemModal))
    form = tab.app.screen
    await tab.press(*name, "tab", *"Old.")
    if kind is not None:
        form.query_one("#kind", Select).value = kind.value
    if without:
        form.query_one("#known-to").focus()
        await tab.press(without)
    await tab.press("ctrl+s")
    await tab.until(lambda: tab.app.screen is not form)


async def test_an_item_that_is_added_and_hidden_says_so(desktop: Desktop) -> None:
    async with tab3(desktop, shown="4") as tab:
        await add(tab, "Inn")
        await tab.said("Places · Added; u undoes it")
        await tab.until(lambda: "Inn" in tab.names)
        await add(tab, "Debt", ItemKind.FACT)
        await tab.said("Places · Added to 6 Facts")
        await tab.press("f")
        await tab.until(lambda: tab.count.endswith(" new"))
        await add(tab, "Mill")
        await tab.said("Places · Added, hidden by the filter (f)")
        assert "Added, hidden by the filter (f)" in screen_text(tab.app), "it has room in 80 columns"
        await tab.press("f", "f")
        await tab.until(lambda: "Mill" in tab.names)
        await tab.press("slash", *"stair", "enter")
        await tab.until(lambda: tab.items.has_focus and tab.names == ["The stair"])
        await add(tab, "Well")
        await tab.said("Places · Added, hidden by the search (/)")
        tab.cell.query_one(Input).value = ""
        await tab.until(lambda: "Well" in tab.names)
        await tab.press("d")
        await tab.until(lambda: not tab.names)
        await add(tab, "Pond")
        await tab.said("Places · Added, hidden until d shows all")


async def test_an_item_that_the_viewed_character_does_not_know_says_so(desktop: Desktop) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("f12")
        await tab.until(lambda: "as 1 Mira knows them" in tab.title)
        await add(tab, "Inn")
        await tab.said("· Added; u undoes it")
        await add(tab, "Mill", without="1")
        await tab.said("Places · Added, hidden by the view (F12) · as 1 Mira knows them")
        await tab.until(lambda: "Added, hidden by the view (F12)" in screen_text(tab.app), "it has room")


async def test_an_item_that_is_added_from_a_sheet_and_is_no_line_of_it_says_so(desktop: Desktop) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("f3", "alt+c")
        await tab.until(lambda: isinstance(tab.app.screen, SheetModal))
        await add(tab, "Inn", ItemKind.PLACE)
        await tab.until(lambda: "Added, not on this sheet" in screen_text(tab.app))
