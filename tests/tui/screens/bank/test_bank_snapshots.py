"""Pictures of the memory bank; look at each one before it is accepted."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from core.domain.bank.item import Item
from core.domain.ids import ItemId
from core.engine.engine import Engine
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.bank.item_modal import AddItemModal, ItemModal
from storyengine_tui.screens.bank.item_screen import ItemScreen
from storyengine_tui.screens.bank.sheet_modal import SheetModal
from storyengine_tui.screens.chapter.bank_switch import LanguageModal
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.core.values.bank import WHOLE
from tests.tui.chapters.banked_chapter import ITEMS, SCRIPT, keep, make_sorted
from tests.tui.conftest import PicturesMatch, settled
from tests.tui.engine_app import Desktop, filled, make_active, opened, until

Act = Callable[[Pilot[Any], StoryEngineApp], Awaitable[None]]
Make = Callable[[Engine], Awaitable[object]]


class Shown(Protocol):
    def __call__(self, *acts: Act, make: Make = make_sorted) -> bool: ...


@pytest.fixture
def shown(desktop: Desktop, pictures_match: PicturesMatch) -> Shown:
    """Compare pictures of a chapter that keeps a bank, each after an act, with the accepted ones."""
    desktop.script = SCRIPT

    def compare(*acts: Act, make: Make = make_sorted) -> bool:
        desktop.prepare_now(make)

        async def run_before(act: Act, pilot: Pilot[Any]) -> None:
            await act(pilot, await opened(pilot))
            await settled(pilot)

        return pictures_match(desktop.app(), {act.__name__: partial(run_before, act) for act in acts})

    return compare


def with_items(*items: Item) -> Make:
    """Store a chapter that keeps a bank of these."""

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), items)

    return make


async def show_list(pilot: Pilot[Any], app: StoryEngineApp, key: str) -> None:
    """Show a list on tab 3."""
    await pilot.press("f4")
    await filled(pilot, "narrative")
    cell = app.chapter.query_one(MemoryCell)
    await until(pilot, lambda: cell.memory.is_known and cell.keeps_bank and cell.bank.rows is not None)
    await pilot.press(key)
    await until(pilot, lambda: cell.query_one(ItemList).has_focus)


def test_pictures_of_the_details_of_an_item_and_of_the_people_as_one_character_knows_them(
    shown: Shown,
) -> None:
    async def details(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await show_list(pilot, app, "3")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ItemScreen))
        view = app.screen.query_one(PassageView)
        await until(pilot, lambda: "How it was changed" in view.lines.text)

    async def people(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("f12", "down")

    assert shown(details, people)


def test_picture_of_the_facts_of_which_two_are_pinned(shown: Shown) -> None:
    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await show_list(pilot, app, "6")
        await pilot.press("space", "space", "p")
        title = app.chapter.query_one("#memory-title", Static)
        await until(pilot, lambda: "Pinned" in str(title.content))
        await pilot.press("end", "space", "up")

    assert shown(act)


def test_picture_of_items_that_may_say_the_same(shown: Shown) -> None:
    again = replace(ITEMS[4], id=ItemId(UUID(int=20)), text="Still it is under the stair [/x].")

    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await show_list(pilot, app, "6")
        await pilot.press("d")
        await until(pilot, lambda: len(app.chapter.query_one(ItemList).rows) == 2)

    assert shown(act, make=with_items(*ITEMS, again))


def test_picture_of_a_bank_with_nothing_in_it(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.script = SCRIPT

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 1), ())

    desktop.prepare_now(make)

    async def run_before(pilot: Pilot[Any]) -> None:
        await show_list(pilot, await opened(pilot), "4")
        await settled(pilot)

    assert pictures_match(desktop.app(), run_before=run_before)


def test_picture_of_an_event_that_is_edited_and_refused(shown: Shown) -> None:
    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await show_list(pilot, app, "6")
        await pilot.press("down", "down", "e")
        await until(pilot, lambda: isinstance(app.screen, ItemModal))
        app.screen.query_one("#importance").focus()
        await pilot.press("x", "ctrl+s")
        refused = app.screen.query_one("#refused", Static)
        await until(pilot, lambda: refused.display)

    assert shown(act)


def test_picture_of_a_person_with_every_detail_that_is_edited_and_refused(shown: Shown) -> None:
    person = replace(ITEMS[0], details=WHOLE[2])

    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await show_list(pilot, app, "3")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, ItemModal))
        app.screen.query_one("#exposure_desired").focus()
        await pilot.press("9", "ctrl+s")
        refused = app.screen.query_one("#refused", Static)
        await until(pilot, lambda: refused.display)
        await settled(pilot)
        app.screen.query_one(".dialog--box").scroll_end(animate=False, immediate=True)

    assert shown(act, make=with_items(person))


def test_picture_of_a_skill_and_what_play_made_of_it(shown: Shown) -> None:
    skill = replace(ITEMS[6], details=WHOLE[5])

    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await show_list(pilot, app, "6")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ItemScreen))
        view = app.screen.query_one(PassageView)
        await until(pilot, lambda: "Learned by" in view.lines.text)

    assert shown(act, make=with_items(skill))


def test_picture_of_an_item_that_is_added(shown: Shown) -> None:
    async def act(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await show_list(pilot, app, "4")
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(app.screen, AddItemModal))
        await pilot.press("tab", *"A cellar [/x].")
        app.screen.query_one("#known-to").focus()
        await pilot.press("2")

    assert shown(act)


def test_pictures_of_a_transcript_with_a_quote_the_sheet_of_a_character_and_the_language_of_the_story(
    shown: Shown,
) -> None:
    async def quote(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        view = app.chapter.query_one(TranscriptPanel).transcript
        await until(pilot, lambda: any(one.quoted for one in view.lines.paragraphs))

    async def sheet(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("alt+c")
        await until(pilot, lambda: isinstance(app.screen, SheetModal))
        await until(pilot, lambda: len(app.screen.query_one(ItemList).rows) == 2)

    async def language(pilot: Pilot[Any], app: StoryEngineApp) -> None:
        await pilot.press("escape")
        offered = commands_of(app, lambda: None)
        next(one for one in offered if one.title == "Language of the story").callback()
        await until(pilot, lambda: isinstance(app.screen, LanguageModal))

    assert shown(quote, sheet, language)
