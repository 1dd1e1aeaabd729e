"""What is told of a character of the library, its groups, and its pause, on the list of the cast."""

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from core.engine.engine import Engine
from core.library.characters.character import LibraryCharacter
from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.cast.character_modals import DetailsModal, PauseModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.one_line import LineField
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, in_front, opened, until
from tests.tui.screens.library.shelf.test_shelves import cells, heading, make_library, shelf

pytestmark = pytest.mark.anyio


async def details(pilot: Pilot[Any]) -> DetailsModal:
    if not isinstance(pilot.app.screen, CastScreen):
        await shelf(pilot, "3", CastScreen)
    await pilot.press("d")
    return await in_front(pilot, DetailsModal, LineField)


async def joss(app: StoryEngineApp) -> LibraryCharacter:
    assert app.engine is not None
    return (await app.engine.library.characters.listed())[0]


async def test_what_is_told_of_a_character_is_edited_line_by_line_or_refused_or_dropped_after_a_question(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        # Esc asks before typed details are dropped and closes at once without any.
        await details(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        screen = await details(pilot)
        await pilot.press(*"A sailor", "escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert screen.query_one("#short", LineField).text == "A sailor"
        await pilot.press(*["backspace"] * len("A sailor"), "escape")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        # A name that another has is refused and what was typed stays.
        before = await joss(app)
        screen = await details(pilot)
        await pilot.press("tab", "end", *"; Kara", "ctrl+s")
        refused = screen.query_one("#refused", Static)
        await until(pilot, lambda: refused.display)
        assert "Not saved" in str(refused.content)
        assert screen.query_one("#aliases", LineField).text.endswith("; Kara")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        assert await joss(app) == before
        # What is told of a character and its groups are edited line by line.
        screen = await details(pilot)
        await pilot.press(*"A sailor", "tab", "end", *"; Jo;Jonas ", "tab")
        group = screen.query_one("#group", LineField)
        await until(pilot, lambda: screen.focused is group)
        group.load_text("Harbour")
        await pilot.press("tab")
        sees = screen.query_one("#sees", LineField)
        await until(pilot, lambda: screen.focused is sees)
        sees.load_text("")
        await pilot.press("tab", *"far:dear", "tab", "enter", "down", "enter")
        await until(pilot, lambda: screen.query_one("#static", GuardedSelect).value is True)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        await until(pilot, lambda: cells(app.screen)[0] == ["Joss", "Harbour", "A sailor"])
        kept = await joss(app)
        assert kept.aliases[-2:] == ("Jo", "Jonas")
        assert (kept.group, kept.groups_visible, kept.is_static) == ("Harbour", (), True)
        assert kept.model == "far:dear"


async def test_another_name_with_a_semicolon_in_it_stays_one_name(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await make_library(engine)
        one = (await engine.library.characters.listed())[0]
        stored = replace(one, aliases=("A; B", "B"), groups_visible=("Sea; land",))
        await engine._store.library.put_character(stored)

    async with desktop.window(make) as (pilot, app):
        await details(pilot)
        await pilot.press("tab", "end", *"; Jo", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        kept = await joss(app)
        assert (kept.aliases, kept.groups_visible) == (("A; B", "B", "Jo"), ("Sea; land",))


async def test_a_character_is_paused_until_a_day_and_resumed(desktop: Desktop) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, PauseModal))
        await pilot.press(*"2999-05-31", "enter")
        await until(pilot, lambda: cells(screen)[0][2].startswith("paused until 2999-05-31 00:00 · "))
        assert heading(screen) == "“Joss” is paused until 2999-05-31 00:00; u resumes it"
        await pilot.press("u")
        await until(pilot, lambda: not cells(screen)[0][2].startswith("paused"))
        assert not (await joss(app)).is_paused
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, PauseModal))
        await pilot.press(*"soon", "enter")
        await until(pilot, lambda: app.screen.query_one("#refused").display)
        assert isinstance(app.screen, PauseModal), "what was typed is still there"
        assert not (await joss(app)).is_paused


async def test_in_the_archive_nothing_is_paused_or_described(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await make_library(engine)
        characters = engine.library.characters
        for one in await characters.listed():
            await characters.archive(one)

    async with desktop.window(make) as (pilot, _):
        screen = await shelf(pilot, "3", CastScreen)
        await pilot.press("v")
        await until(pilot, lambda: len(cells(screen)) == 2)
        assert screen.check_action("details", ()) is False
        assert screen.check_action("pause", ()) is False


def test_the_details_of_a_character(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_library)

    async def run_before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await details(pilot)
        await pilot.press(*"A sailor who owes money. [/x]")

    assert pictures_match(desktop.app(), run_before)
