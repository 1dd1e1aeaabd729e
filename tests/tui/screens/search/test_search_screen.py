"""The search on the screen: a list that narrows, the text behind a line, this chapter or the book."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static

from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from storyengine_tui.screens.search.search_screen import HitScreen, SearchScreen, search_in
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, opened, until


async def tell(engine: Engine) -> None:
    """Play a chapter of two prompts."""
    session = await engine.open(await engine.create())
    await session.edit_tab1(Tab1Edit(world="A cold sea.", names={Slot.RED: "Kara"}))
    await session.wait(await session.lock())
    for text in ("Where is the brass [/x] key?", "And the boat?"):
        await session.wait(await session.submit_prompt(Slot.RED, text))
    await session.aclose()


def cells(screen: SearchScreen) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


async def searching(pilot: Pilot[Any], app: Any, words: str) -> SearchScreen:
    await until(pilot, lambda: app.session is not None)
    app.push_screen(await search_in(app.engine, app.session.id))
    await until(pilot, lambda: isinstance(app.screen, SearchScreen))
    await pilot.press(*words)
    assert isinstance(app.screen, SearchScreen)
    return app.screen


@pytest.mark.anyio
async def test_the_list_narrows_as_words_are_typed_and_enter_shows_the_whole_text(desktop: Desktop) -> None:
    async with desktop.window(tell) as (pilot, app):
        screen = await searching(pilot, app, "bras")
        await until(
            pilot,
            lambda: (
                ["Transcript, prompt 1", "GM: Where is the brass [/x] key?"]
                in [[where, what.lstrip("…")] for where, what in cells(screen)]
            ),
        )
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, HitScreen))
        view = app.screen.query_one(PassageView)
        await until(pilot, lambda: "Where is the brass [/x] key?" in view.lines.text)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press(*"zz")
        await until(pilot, lambda: not cells(screen))
        await until(pilot, lambda: screen.query_one("#empty", Static).display)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)


@pytest.mark.anyio
async def test_a_chapter_in_no_book_offers_no_book_and_the_palette_has_the_search(desktop: Desktop) -> None:
    async with desktop.window(tell) as (pilot, app):
        screen = await searching(pilot, app, "")
        assert screen.check_action("widen", ()) is False
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert "Search" in {command.title for command in app.get_system_commands(app.screen)}


def test_what_is_found_for_words(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(tell)

    async def run_before(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        screen = await searching(pilot, app, "the")
        screen.query_one(Input).cursor_blink = False
        await until(pilot, lambda: len(cells(screen)) > 1)

    assert pictures_match(desktop.app(), run_before)
