"""The identity of a character of the library while something else of it changes, and over a kill."""

from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.cast.character_modals import OTHER, IdentityModal
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.stored_text_modal import BEGUN_OVER
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, in_front, until
from tests.tui.screens.library.cast.test_details import details, joss
from tests.tui.screens.library.shelf.test_shelves import make_library, shelf

pytestmark = pytest.mark.anyio
WAS = "A sailor who owes money.\n\ndry"


async def identity(pilot: Pilot[Any]) -> IdentityModal:
    await shelf(pilot, "3", CastScreen)
    await pilot.press("enter")
    return await in_front(pilot, IdentityModal, CappedTextArea)


async def test_a_dialog_opens_in_its_size_so_that_no_click_misses_a_button_that_moved(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    heights: list[int] = []

    def on_resize(_: CappedTextArea, event: events.Resize) -> None:
        heights.append(event.size.height)

    monkeypatch.setattr(CappedTextArea, "on_resize", on_resize, raising=False)
    async with desktop.window(make_library, size=(120, 40)) as (pilot, _app):
        await shelf(pilot, "3", CastScreen)
        del heights[:]
        await pilot.press("enter")
        screen = await in_front(pilot, IdentityModal, CappedTextArea)
        await pilot.pause()
        tall = screen.query_one(CappedTextArea).region.height
        assert set(heights) == {tall}
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: screen.query_one(CappedTextArea).region.height < tall)


async def test_what_is_stored_of_a_character_leaves_what_changed_meanwhile_and_one_that_is_gone_is_said(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        # An identity is stored though the character was paused meanwhile.
        await identity(pilot)
        assert app.engine is not None
        characters = app.engine.library.characters
        await characters.pause(await joss(app))
        await pilot.press(*" Tall.", "tab", "tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        kept = await joss(app)
        assert (kept.identity, kept.is_paused) == (f"{WAS} Tall.", True)
        # Details are stored though the identity was changed meanwhile.
        await details(pilot)
        await app.engine.library.characters.save(replace(await joss(app), identity="A spy."))
        await pilot.press(*"A sailor", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        kept = await joss(app)
        assert (kept.identity, kept.short_description) == ("A spy.", "A sailor")
        # A character that was purged elsewhere leaves the list with the refusal.
        screen = app.screen
        assert isinstance(screen, CastScreen)
        row = screen.chosen
        assert row is not None
        await characters.archive(row)
        await characters.purge((await characters.listed(is_archived=True))[0])
        await pilot.press("enter")
        await until(pilot, lambda: screen.query_one(Banner).is_shown)
        assert row.id not in {one.id for one in screen.rows}


@pytest.mark.parametrize("is_mine", [True, False])
async def test_where_the_identity_itself_was_changed_the_gm_says_which_holds(
    desktop: Desktop, is_mine: bool
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await identity(pilot)
        assert app.engine is not None
        await app.engine.library.characters.save(replace(await joss(app), identity="A spy. [/x]"))
        await pilot.press(*" Tall.", "tab", "tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        asked = "\n".join(str(one.content) for one in app.screen.query(Static))
        assert OTHER in asked
        assert "A spy. [/x]" in asked
        await pilot.press(*(["right"] if is_mine else []), "enter")
        if is_mine:
            await until(pilot, lambda: isinstance(app.screen, CastScreen))
        else:
            await until(pilot, lambda: app.screen is screen)
            assert screen.query_one(CappedTextArea).text == f"{WAS} Tall."
        assert (await joss(app)).identity == (f"{WAS} Tall." if is_mine else "A spy. [/x]")


async def test_an_identity_that_was_typed_is_there_again_after_a_kill(desktop: Desktop) -> None:
    async with desktop.window(make_library) as (pilot, app):
        await identity(pilot)
        await pilot.press(*" Tall.")
        kept = KeptText.of("identity", (await joss(app)).id, desktop.paths.data)
        await until(pilot, lambda: kept.read() == f"{WAS} Tall.")
    kept.keep(f"{WAS} Tall. Old.")
    async with desktop.window() as (pilot, app):
        screen = await identity(pilot)
        assert BEGUN_OVER in "\n".join(str(one.content) for one in screen.query(Static))
        await pilot.press("tab", "tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, CastScreen))
        assert (await joss(app)).identity == f"{WAS} Tall. Old."
        await until(pilot, lambda: not kept.file.exists())
