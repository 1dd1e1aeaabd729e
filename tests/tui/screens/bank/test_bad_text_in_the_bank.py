"""Items come from models: bad text is shown as text wherever an item is, and is edited as text."""

from dataclasses import replace

import pytest
from textual.widgets import Static

from core.domain.bank.checks import LONGEST_DETAIL
from core.domain.bank.details import PersonDetails, StateDetails
from core.domain.bank.item import LONGEST_ITEM_NAME, LONGEST_TEXT
from core.engine.engine import Engine
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.bank.item_modal import ItemModal
from storyengine_tui.screens.bank.item_screen import ItemScreen
from storyengine_tui.screens.bank.sheet_modal import SheetModal
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.bad_text import KINDS, BadText, acts
from tests.tui.chapters.banked_chapter import ITEMS, SCRIPT, keep
from tests.tui.engine_app import Desktop, make_active, until

pytestmark = pytest.mark.anyio
MARKUP = BadText("markup", " ".join(one.middle for one in KINDS if "markup" in one.name))
CONTROLS = BadText("controls", " ".join(one.middle for one in KINDS if not one.is_legitimate))


@pytest.mark.parametrize("kind", [MARKUP, CONTROLS], ids=lambda kind: kind.name)
async def test_it_is_text_in_lists_details_dialogs_and_sheets(desktop: Desktop, kind: BadText) -> None:
    bad = kind.text.replace("\x00", "")  # The database takes none.
    name, text = bad[:LONGEST_ITEM_NAME], bad[:LONGEST_TEXT]
    detail = bad[:LONGEST_DETAIL]
    person = replace(ITEMS[0], name=name, text=text, details=PersonDetails(relationship=detail))
    state = replace(ITEMS[7], name=name, text=text, details=StateDetails(other=detail))
    said = replace(ITEMS[9], text=text, evidence=(replace(ITEMS[9].evidence[0], words=bad[:400]),))

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), (person, state, said))

    desktop.script = SCRIPT
    async with desktop.window(make, size=(120, 40)) as (pilot, app):

        async def look() -> None:
            await pilot.pause()
            assert not acts(app.export_screenshot().replace("\r", "")), "a control character is on the screen"

        await pilot.press("alt+c")
        await until(pilot, lambda: isinstance(app.screen, SheetModal))
        await until(pilot, lambda: app.screen.query_one(ItemList).rows)
        await look()
        await pilot.press("escape", "f4")
        cell = app.chapter.query_one(MemoryCell)
        await until(pilot, lambda: cell.keeps_bank and cell.bank.rows is not None)
        for key in ("7", "6", "3"):
            await pilot.press(key)
            await until(pilot, lambda: cell.query_one(ItemList).has_focus)
            await look()
        await pilot.press("p")
        title = cell.query_one("#memory-title", Static)
        await until(pilot, lambda: "Pinned" in str(title.content))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ItemScreen))
        view = app.screen.query_one(PassageView)
        await until(pilot, lambda: "How it was changed" in view.lines.text)
        await look()
        await pilot.press("escape", "e")
        await until(pilot, lambda: isinstance(app.screen, ItemModal))
        await look()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("u")
        await until(pilot, lambda: "Undone" in str(title.content))
        await look()
