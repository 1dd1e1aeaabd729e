"""The rows of a lorebook are the entries as they are stored: an entry may have another uid after a save."""

import json
from typing import Any

import pytest
from textual.pilot import Pilot

from core.engine.engine import Engine
from storyengine_tui.screens.library.lore.lorebook_screen import LorebookScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, in_front, make_draft, until
from tests.tui.screens.library.lore.lore_screens import entry_shown, lorebook_shown, names, stored, text_of

pytestmark = pytest.mark.anyio

TEXTS = {"lamp": "Lit.", "harbour": "Deep.", "weather": "Rain.", "ships": "Two."}
V3: dict[str, Any] = {
    "spec": "lorebook_v3",
    "data": {
        "name": "Grey Point",
        "extensions": {},
        "entries": [
            {"keys": [key], "name": key, "content": text, "extensions": {}, "enabled": True}
            | {"insertion_order": 100, "use_regex": False}
            for key, text in TEXTS.items()
        ],
    },
}
"""A lorebook whose entries have no number of their own: their places are their uids."""


async def make_numberless(engine: Engine) -> None:
    await make_draft(engine)
    await engine.library.lore.import_lore(json.dumps(V3).encode(), "grey.json")


async def deleted_first(pilot: Pilot[Any]) -> LorebookScreen:
    """Delete the first entry, and wait until that is stored."""
    screen = await lorebook_shown(pilot)
    await pilot.press("d")
    await in_front(pilot, ConfirmModal)
    await pilot.press("right", "enter")
    await until(pilot, lambda: pilot.app.screen is screen)
    await until(pilot, lambda: text_of(screen, "#saved") == "stored")
    return screen


async def stored_texts(app: StoryEngineApp) -> list[tuple[str, str, bool]]:
    assert app.engine is not None
    return [(one.name, one.content, one.is_enabled) for one in (await stored(app.engine)).entries]


async def test_the_entry_behind_a_deleted_one_is_switched_and_no_other(desktop: Desktop) -> None:
    async with desktop.window(make_numberless) as (pilot, app):
        screen = await deleted_first(pilot)
        await pilot.press("space")
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        assert await stored_texts(app) == [
            ("harbour", "Deep.", False),
            ("weather", "Rain.", True),
            ("ships", "Two.", True),
        ]


async def test_the_last_entry_opens_with_its_text_after_another_was_deleted(desktop: Desktop) -> None:
    async with desktop.window(make_numberless) as (pilot, _):
        screen = await deleted_first(pilot)
        await pilot.press("end")
        assert names(screen) == ["harbour", "weather", "ships"]
        editor = await entry_shown(pilot)
        assert editor.query_one("#content", CappedTextArea).text == "Two."


async def test_the_entry_behind_a_deleted_one_can_be_deleted_as_well(desktop: Desktop) -> None:
    async with desktop.window(make_numberless) as (pilot, app):
        screen = await deleted_first(pilot)
        await pilot.press("d")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await until(pilot, lambda: pilot.app.screen is screen and names(screen) == ["weather", "ships"])
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        assert [name for name, *_ in await stored_texts(app)] == ["weather", "ships"]


async def test_an_entry_is_deleted_though_a_save_ends_while_that_is_asked(desktop: Desktop) -> None:
    async with desktop.window(make_numberless) as (pilot, app):
        screen = await lorebook_shown(pilot)
        await pilot.press("d")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("d")
        await in_front(pilot, ConfirmModal)
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        await pilot.press("right", "enter")
        await until(pilot, lambda: names(screen) == ["weather", "ships"])
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        assert [name for name, *_ in await stored_texts(app)] == ["weather", "ships"]
