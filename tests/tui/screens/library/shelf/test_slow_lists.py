"""A list of the library that takes its time does nothing to what the GM does meanwhile."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.widgets import DataTable

from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.shelf.title_modal import NameModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.one_line import LineField
from tests.tui.engine_app import Desktop, in_front, until
from tests.tui.screens.library.shelf.test_shelves import LORE, cells, heading, make_library, shelf

pytestmark = pytest.mark.anyio


def after(gate: asyncio.Event, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return the same, which waits for the gate first."""

    async def waits(*args: Any, **options: Any) -> Any:
        await gate.wait()
        return await work(*args, **options)

    return waits


def library_of(app: StoryEngineApp) -> Any:
    assert app.engine is not None
    return app.engine.library


async def test_an_import_that_ends_while_a_name_is_typed_closes_nothing(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        gate, lore = asyncio.Event(), library_of(app).lore
        monkeypatch.setattr(lore, "take_lore", after(gate, lore.take_lore))
        app.post_message(events.Paste(json.dumps({**LORE, "name": "Dunes"})))
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("t")
        modal = await in_front(pilot, NameModal, LineField)
        await pilot.press("end", *" the Elder")
        gate.set()
        await until(pilot, lambda: heading(screen) == "“Dunes” was imported")
        assert app.screen is modal
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        await until(pilot, lambda: cells(screen)[0][0] == "Joss the Elder")


async def test_no_key_acts_on_rows_from_before_the_archive_is_read(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        gate, characters = asyncio.Event(), library_of(app).characters
        monkeypatch.setattr(characters, "listed", after(gate, characters.listed))
        await pilot.press("v", "p", "r", "enter")
        await pilot.pause()
        assert app.screen is screen
        # Words that are looked for meanwhile bring none of them back.
        await pilot.press("slash", "o")
        await pilot.pause()
        assert not screen.rows
        await pilot.press("escape")
        gate.set()
        await until(pilot, lambda: screen.query_one("#empty").display)
        await pilot.press("v")
        await until(pilot, lambda: len(cells(screen)) == 2)


async def test_a_command_that_is_refused_reads_the_list_again_and_succeeds_the_second_time(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        characters = library_of(app).characters
        joss = (await characters.listed())[0]
        await characters.change(joss.id, lambda one: replace(one, group="Harbour"))
        await pilot.press("a")
        await until(pilot, lambda: screen.query_one("#trouble", Banner).is_shown)
        await until(pilot, lambda: cells(screen)[0][1] == "Harbour")
        # The reason stays above a list that is shown in another width.
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: not [one for one in app.workers if one.group == "list"])
        assert screen.query_one("#trouble", Banner).is_shown
        await pilot.press("a")
        await until(pilot, lambda: [row[0] for row in cells(screen)] == ["Kara"])
        await until(pilot, lambda: not screen.query_one("#trouble", Banner).is_shown)


async def test_a_key_that_comes_twice_archives_one_and_is_not_called_changed_elsewhere(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        gate, characters = asyncio.Event(), library_of(app).characters
        monkeypatch.setattr(characters, "archive", after(gate, characters.archive))
        await pilot.press("a", "a")
        gate.set()
        await until(pilot, lambda: [row[0] for row in cells(screen)] == ["Kara"])
        await until(pilot, lambda: not [one for one in app.workers if one.group == "list"])
        assert not screen.query_one("#trouble", Banner).is_shown
        assert heading(screen) == "“Joss” is archived; v shows it"
        # Another row is another command, which waits for its turn although the list is left.
        gate.clear()
        await characters.create("Ines")
        screen.read_again()
        await until(pilot, lambda: len(cells(screen)) == 2)
        screen.query_one(DataTable).move_cursor(row=0)
        await pilot.press("a", "down", "a", "v", "escape")
        gate.set()
        await until(pilot, lambda: not [one for one in app.workers if one.group == "list"])
        assert not await characters.listed()


async def test_a_second_command_on_a_row_acts_on_it_as_the_first_one_left_it(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        gate, characters = asyncio.Event(), library_of(app).characters
        await characters.pause((await characters.listed())[0])
        screen.read_again()
        await until(pilot, lambda: screen.rows[0].is_paused)
        monkeypatch.setattr(characters, "resume", after(gate, characters.resume))
        await pilot.press("u", "a")
        gate.set()
        await until(pilot, lambda: not [one for one in app.workers if one.group == "list"])
        assert not screen.query_one("#trouble", Banner).is_shown
        assert [row[0] for row in cells(screen)] == ["Kara"]
        [joss] = await characters.listed(is_archived=True)
        assert not joss.is_paused


async def test_two_quick_keys_to_the_archive_and_back_never_show_the_rows_of_the_archive(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_library) as (pilot, app):
        screen = await shelf(pilot, "3", CastScreen)
        before = list(screen.rows)
        shown: list[list[object]] = []
        gate, characters = asyncio.Event(), library_of(app).characters
        monkeypatch.setattr(characters, "listed", after(gate, characters.listed))
        show_rows = screen.show_rows

        def noted(rows: Sequence[Any]) -> None:
            shown.append(list(rows))
            show_rows(rows)

        monkeypatch.setattr(screen, "show_rows", noted)
        await pilot.press("v", "v")
        gate.set()
        await until(pilot, lambda: bool(screen.rows))
        assert shown == [before]
