"""A path that an import or an export refuses stays in the dialog, with the reason; so does a blank line."""

import json
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.lore.lore_screen import LoreScreen
from storyengine_tui.screens.library.shelf.title_modal import (
    NO_NAME,
    ExportModal,
    FileModal,
    NameModal,
    PathModal,
)
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.one_line import LineField
from tests.tui.engine_app import Desktop, in_front, screen_text, until
from tests.tui.screens.library.shelf.test_arriving import confirm
from tests.tui.screens.library.shelf.test_shelves import LORE, cells, heading, make_library, shelf

pytestmark = pytest.mark.anyio


async def refused(pilot: Pilot[Any], kind: type[PathModal], path: str, reason: str) -> PathModal:
    """Answer with a path, and return the dialog that asks again."""
    before = await in_front(pilot, kind)
    pilot.app.post_message(events.Paste(path))
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is not before and isinstance(pilot.app.screen, kind))
    again = await in_front(pilot, kind)
    await until(pilot, lambda: reason in str(again.query_one("#refused", Static).content))
    assert again.query_one(LineField).text == path
    return again


async def test_a_refused_import_keeps_its_path_to_be_corrected(desktop: Desktop, tmp_path: Path) -> None:
    (tmp_path / "harbour.json").write_text(json.dumps({**LORE, "name": "Quay"}))
    async with desktop.window(make_library, size=(120, 40)) as (pilot, _):
        screen = await shelf(pilot, "4", LoreScreen)
        count = len(cells(screen))
        await pilot.press("i")
        await refused(pilot, FileModal, str(tmp_path / "harbour.jso"), "cannot be read")
        assert not screen.query_one(Banner).is_shown
        await pilot.press("n", "enter")
        await in_front(pilot, ConfirmModal)
        screen = await confirm(pilot, LoreScreen)
        assert heading(screen) == "“Quay” was imported"
        assert len(cells(screen)) == count + 1
        # A folder in which there is nothing to import is no import.
        (tmp_path / "none").mkdir()
        await pilot.press("i")
        await refused(pilot, FileModal, str(tmp_path / "none"), "No file there can be imported here.")


async def test_a_refused_path_of_a_chapter_and_of_an_export_stays_too(
    desktop: Desktop, tmp_path: Path
) -> None:
    async with desktop.window(make_library, size=(120, 40)) as (pilot, app):
        await shelf(pilot, "2", ChaptersScreen)
        await pilot.press("i")
        await refused(pilot, FileModal, str(tmp_path / "a.json"), "cannot be read")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, CastScreen) and bool(cells(app.screen)))
        screen = app.screen
        await pilot.press("x")
        await refused(pilot, ExportModal, str(tmp_path / "kara"), "has no ending that says a format")
        await pilot.press(*".json", "enter")
        await until(pilot, lambda: app.screen is screen and "Wrote" in heading(screen))
        assert (tmp_path / "kara.json").exists()


async def test_the_end_of_a_long_path_shows_where_the_cursor_is(desktop: Desktop) -> None:
    async with desktop.window(make_library) as (pilot, app):
        await shelf(pilot, "4", LoreScreen)
        await pilot.press("i")
        await refused(pilot, FileModal, f"/{'nowhere' * 10}/the_end.json", "cannot be read")
        await until(pilot, lambda: "where/the_end.json  " in screen_text(app).replace("\xa0", " "))


async def test_a_blank_path_or_name_is_asked_for_again_and_closes_nothing(desktop: Desktop) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        for key, kind, reason in (("i", FileModal, "Type a path first."), ("n", NameModal, NO_NAME)):
            await pilot.press(key)
            dialog = await in_front(pilot, kind)
            await pilot.press("space", "enter")
            await until(pilot, lambda reason=reason: reason in screen_text(app))  # type: ignore[misc]
            assert app.screen is dialog
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is screen)
