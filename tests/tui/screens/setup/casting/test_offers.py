"""What else the card of a character has, on tab 1: offered once it is taken, and taken line by line."""

import asyncio
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from core.domain.session.prompt_block import NO_PROMPT_BLOCKS
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import LoreCopy, Tab1Edit
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.setup.casting.casting import PickScreen
from storyengine_tui.screens.setup.casting.compare_screen import CompareScreen, ShortenModal
from storyengine_tui.screens.setup.casting.offers_screen import OffersScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.core.library.cards.card_samples import V3, text_of
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, opened, until
from tests.tui.screens.setup.casting.test_casting import cells, panel_of, shown, titles

MORE = "What else the card has"
LONG = "s" * 4_100


async def make(engine: Engine, **fields: object) -> None:
    """Store Kara with her card, and a chapter that has a text."""
    card = {**V3, "data": {**V3["data"], "nickname": "", **fields}}
    await engine.library.characters.import_card(text_of(card), "kara.json")
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(Tab1Edit(world="A cold sea.", chapter="It begins."))
    await session.aclose()


async def make_long(engine: Engine) -> None:
    await make(engine, system_prompt=LONG, scenario="w" * 4_995)


async def make_two_long(engine: Engine) -> None:
    await make(engine, scenario="w" * 3_000, first_mes="m" * 3_000)


async def offered(pilot: Pilot[Any], app: StoryEngineApp, slot: Slot = Slot.RED) -> OffersScreen:
    """Take Kara, and return the list of what else she has."""
    await panel_of(pilot, app, slot)
    app.action_take_character()
    await shown(pilot, app, PickScreen)
    await pilot.press("enter")
    return await listed(pilot, app)


async def listed(pilot: Pilot[Any], app: StoryEngineApp) -> OffersScreen:
    await until(pilot, lambda: isinstance(app.screen, OffersScreen))
    await until(pilot, lambda: app.screen.query_one(DataTable).row_count > 0)
    screen = app.screen
    assert isinstance(screen, OffersScreen)
    return screen


def session_of(app: StoryEngineApp) -> SessionHandle:
    assert app.session is not None
    return app.session


def ask(app: StoryEngineApp) -> None:
    """Choose the command of the palette."""
    [command] = [one for one in app.get_system_commands(app.screen) if one.title == MORE]
    command.callback()


def taken(screen: OffersScreen) -> list[str]:
    return [row[0] for row in cells(screen) if row[2] == "taken"]


async def switch(pilot: Pilot[Any], screen: OffersScreen, title: str) -> None:
    """Take a line, or take it out again."""
    before = taken(screen)
    row = [one[0] for one in cells(screen)].index(title)
    screen.query_one(DataTable).move_cursor(row=row)
    await pilot.press("space")
    await until(pilot, lambda: taken(screen) != before)


@pytest.mark.anyio
async def test_nothing_of_a_card_is_taken_until_the_gm_chooses_it_and_two_lines_at_once_are_both_taken(
    desktop: Desktop,
) -> None:
    async with desktop.window(make) as (pilot, app):
        # Nothing of a card is taken until the GM chooses it.
        screen = await offered(pilot, app)
        assert [row[:3] for row in cells(screen)] == [
            ["Scenario", "Chapter text", ""],
            ["First message", "Chapter text, opening", ""],
            ["Examples", "Prompt block, material", ""],
            ["System prompt", "Prompt block, rules", ""],
            ["Post-history instructions", "Prompt block, rules", ""],
            ["Other greetings 1", "Chapter text, opening", ""],
            ["Other greetings 2", "Chapter text, opening", ""],
            ["Greetings for groups", "Chapter text, opening", ""],
            ["Depth prompt", "Prompt block, rules", ""],
            ["Lore", "Lorebook, it alone", ""],
        ]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        now = session_of(app).snapshot
        assert (now.tab1.chapter, now.prompt_blocks, now.lore) == ("It begins.", NO_PROMPT_BLOCKS, ())
        assert now.tab1.profile_of(Slot.RED).tags == ("sea", "night"), "entries of lorebooks ask for them"
        # Two lines that are taken at once are both taken.
        ask(app)
        screen = await listed(pilot, app)
        table = screen.query_one(DataTable)
        for row in (2, 3):
            table.move_cursor(row=row)
            screen.action_switch()
        await until(pilot, lambda: len(taken(screen)) == 2)
        assert [one.name for one in session_of(app).snapshot.prompt_blocks.blocks] == [
            "Examples: Kara",
            "System prompt: Kara",
        ]


@pytest.mark.anyio
async def test_each_line_is_taken_by_itself_and_taken_out_again(desktop: Desktop) -> None:
    async with desktop.window(make) as (pilot, app):
        screen = await offered(pilot, app, Slot.ORANGE)
        session = session_of(app)
        for title in ("Scenario", "Other greetings 1", "System prompt", "Lore"):
            await switch(pilot, screen, title)
        assert taken(screen) == ["Scenario", "System prompt", "Other greetings 1", "Lore"]
        told = "It begins.\n\nA lighthouse.\n\nCome in."
        await until(pilot, lambda: session.snapshot.tab1.chapter == told)
        [block] = session.snapshot.prompt_blocks.blocks
        assert (block.name, block.text, block.slots) == ("System prompt: Kara", "Be brief.", (Slot.ORANGE,))
        assert [book.owner for book in session.snapshot.lore] == [Slot.ORANGE]
        for title in ("Scenario", "System prompt", "Lore"):
            await switch(pilot, screen, title)
        await until(pilot, lambda: session.snapshot.tab1.chapter == "It begins.\n\nCome in.")
        assert (session.snapshot.prompt_blocks, session.snapshot.lore) == (NO_PROMPT_BLOCKS, ())
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        chapter = app.chapter.query_one("SetupPane #chapter", CappedTextArea)
        chapter.focus()
        await pilot.press("ctrl+z")
        await until(pilot, lambda: chapter.text == told)


@pytest.mark.anyio
async def test_of_a_text_that_is_too_long_the_gm_chooses_what_goes(desktop: Desktop) -> None:
    async with desktop.window(make_long) as (pilot, app):
        screen = await offered(pilot, app)
        session = session_of(app)
        table = screen.query_one(DataTable)
        for row, room in ((3, 4_000), (0, 4_988)):
            table.move_cursor(row=row)
            await pilot.press("space")
            modal = await shown(pilot, app, ShortenModal)
            area = modal.query_one(CappedTextArea)
            area.replace("", (0, room), area.document.end)
            await until(pilot, lambda modal=modal: not modal.query_one("#add").disabled)  # type: ignore[misc]
            modal.query_one("#add").focus()
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is screen)
        assert taken(screen) == ["Scenario", "System prompt"]
        assert [len(block.text) for block in session.snapshot.prompt_blocks.blocks] == [4_000]
        await until(pilot, lambda: len(session.snapshot.tab1.chapter) == 5_000)
        await switch(pilot, screen, "Scenario")
        await until(pilot, lambda: session.snapshot.tab1.chapter == "It begins.")


@pytest.mark.anyio
async def test_a_text_that_has_no_room_behind_one_that_was_taken_just_before_is_refused_and_not_cut(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_two_long) as (pilot, app):
        screen = await offered(pilot, app)
        session, is_open = session_of(app), asyncio.Event()
        attach = session.edits.attach_lore

        async def slow(copy: LoreCopy) -> None:
            await is_open.wait()
            await attach(copy)

        monkeypatch.setattr(session.edits, "attach_lore", slow)
        table = screen.query_one(DataTable)
        for row in (-1, 0, 1):
            table.move_cursor(row=row % table.row_count)
            await pilot.press("space")
        is_open.set()
        await until(pilot, lambda: screen.query_one(Banner).is_shown)
        assert taken(screen) == ["Scenario", "Lore"]
        chapter = app.chapter.query_one("SetupPane #chapter", CappedTextArea)
        assert chapter.text == "It begins.\n\n" + "w" * 3_000


@pytest.mark.anyio
async def test_it_is_offered_after_a_comparison_and_later_from_the_palette(desktop: Desktop) -> None:
    async def other(engine: Engine) -> None:
        await make(engine)
        session = await engine.open((await engine.sessions())[0].id)
        await session.edits.edit_tab1(Tab1Edit(identities={Slot.RED: "Older."}))
        await session.aclose()

    async with desktop.window(other) as (pilot, app):
        await panel_of(pilot, app, Slot.RED)
        assert MORE not in titles(app)
        app.action_take_character()
        await shown(pilot, app, PickScreen)
        await pilot.press("enter")
        compare = await shown(pilot, app, CompareScreen)
        await pilot.press("t")
        await until(pilot, lambda: cells(compare)[0][3] == "the same")
        await pilot.press("escape")
        await listed(pilot, app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert MORE in titles(app)
        app.action_take_character()  # A copy already: only the palette offers it again.
        await shown(pilot, app, PickScreen)
        await pilot.press("enter")
        await shown(pilot, app, CompareScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)


@pytest.mark.anyio
async def test_once_the_cast_is_locked_the_text_of_the_chapter_takes_nothing_more(desktop: Desktop) -> None:
    async def locked(engine: Engine) -> None:
        await make(engine)
        [kara] = await engine.library.characters.listed()
        session = await engine.open((await engine.sessions())[0].id)
        await session.edits.edit_tab1(Tab1Edit(names={Slot.RED: "Kara"}, profiles={Slot.RED: kara.profile}))
        await session.wait(await session.lock())
        await session.aclose()

    async with desktop.window(locked) as (pilot, app):
        await pilot.press("f2")
        await panel_of(pilot, app, Slot.RED)
        ask(app)
        screen = await listed(pilot, app)
        await pilot.press("space")  # The scenario.
        await switch(pilot, screen, "System prompt")
        assert taken(screen) == ["System prompt"]
        assert session_of(app).snapshot.tab1.chapter == "It begins."


@pytest.mark.anyio
async def test_a_card_with_nothing_more_opens_no_list_and_says_so_when_asked(desktop: Desktop) -> None:
    async def bare(engine: Engine) -> None:
        await engine.library.characters.create("Kara", "Keeps the lamp.")
        await engine.create()

    async with desktop.window(bare) as (pilot, app):
        panel = await panel_of(pilot, app, Slot.RED)
        app.action_take_character()
        await shown(pilot, app, PickScreen)
        await pilot.press("enter")
        await until(pilot, lambda: bool(panel.profile))
        assert app.screen is app.chapter
        ask(app)
        await until(pilot, lambda: any("nothing else" in one.message for one in app._notifications))
        assert app.screen is app.chapter


def test_what_else_a_card_has(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make)

    async def run_before(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        screen = await offered(pilot, app)
        await switch(pilot, screen, "Scenario")
        title = screen.query_one("#offer-title", Static)
        await until(pilot, lambda: str(title.content).endswith("/5,000"))

    assert pictures_match(desktop.app(), run_before)
