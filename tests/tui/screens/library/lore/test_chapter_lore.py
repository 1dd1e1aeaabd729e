"""Lorebooks on the screen: attached from the palette, told by F7, and nothing where there are none."""

import json
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable

from core.domain.agent_role import AgentRole
from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from storyengine_tui.screens.calls.inputs.call_rows import calls_of
from storyengine_tui.screens.calls.inputs.call_screen import CallScreen
from storyengine_tui.screens.calls.inputs.next_input_screen import NextInputScreen
from storyengine_tui.screens.library.lore.chapter_lore_screen import ChapterLoreScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.core.library.cards.card_samples import V2, text_of
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, opened, until

NAMES = {Slot.RED: "Mira", Slot.ORANGE: "Joss", Slot.YELLOW: "Rook"}


def world_info(*entries: dict[str, Any]) -> bytes:
    numbered = {str(number): {"uid": number, **entry} for number, entry in enumerate(entries)}
    return json.dumps({"entries": numbered}).encode()


HARBOUR = world_info(
    {"key": ["lamp"], "comment": "The lamp [/x]", "content": "Seal oil burns in it.\x1b[31m"},
    {"key": ["Mira"], "comment": "Keeper", "content": "She keeps the lamp.", "group": "who"},
    {"key": ["lamp"], "comment": "Wreck\x1b]0;x\x07 and\nall", "content": "Gone.", "probability": 0},
    {"key": ["gull"], "comment": "Gulls", "content": "They know."},
)
GUILD = world_info({"key": ["oil"], "comment": "Oil", "content": "The guild sells it.", "constant": True})


async def make_books(engine: Engine) -> None:
    """Keep two lorebooks, one for a group, and begin a chapter in which one character sees that group."""
    library = engine.library.lore
    await library.import_lore(HARBOUR, "Harbour [x].json")
    guild = (await library.import_lore(GUILD, "Guild.json")).book
    await library.save(replace(guild, groups=("Guild",)))
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(
        Tab1Edit(world="A cold sea.", names=NAMES, profiles={Slot.ORANGE: Profile(group="Guild")})
    )
    await session.aclose()


async def make_played(engine: Engine) -> None:
    """Attach both, and play a prompt."""
    await make_books(engine)
    [listed] = await engine.sessions()
    session = await engine.open(listed.id)
    for book in await engine.library.lore.listed():
        await session.edits.attach_lore(await engine.library.lore.copy_of(book))
    await session.wait(await session.lock())
    await session.wait(await session.submit_prompt(Slot.ORANGE, "Who minds the lamp?"))
    await session.aclose()


async def books_of(pilot: Pilot[Any], app: StoryEngineApp) -> ChapterLoreScreen:
    app.action_chapter_lore()
    await until(pilot, lambda: isinstance(app.screen, ChapterLoreScreen))
    screen = app.screen
    assert isinstance(screen, ChapterLoreScreen)
    await until(pilot, lambda: screen.query_one(DataTable).row_count == 2)
    return screen


def cells(screen: ChapterLoreScreen) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(row)] for row in range(table.row_count)]


@pytest.mark.anyio
async def test_a_book_is_attached_taken_over_again_and_detached(desktop: Desktop) -> None:
    async with desktop.window(make_books) as (pilot, app):
        assert "Lorebooks in play" in {one.title for one in app.get_system_commands(app.screen)}
        screen = await books_of(pilot, app)
        assert cells(screen) == [["Guild", "1", "Guild", ""], ["Harbour [x]", "4", "General", ""]]
        await pilot.press("enter")
        await until(pilot, lambda: cells(screen)[0][3] == "known to Joss")
        await pilot.press("down", "a")
        await until(pilot, lambda: cells(screen)[1][3] == "known to everyone")
        assert app.session is not None
        assert app.engine is not None
        assert [book.name for book in app.session.snapshot.lore] == ["Guild", "Harbour [x]"]
        library = app.engine.library.lore
        await library.save(replace(await library.find("Guild"), groups=("General",)))
        await pilot.press("escape")
        screen = await books_of(pilot, app)
        assert cells(screen)[0][3] == "older; known to Joss"
        await pilot.press("up", "a")
        await until(pilot, lambda: cells(screen)[0][3] == "known to everyone")
        await pilot.press("d")
        await until(pilot, lambda: cells(screen)[1] == ["Guild", "1", "General", ""])
        assert [book.name for book in app.session.snapshot.lore] == ["Harbour [x]"]


async def make_card(engine: Engine) -> None:
    """Take a character with a book on its card into a chapter."""
    entries = [{"keys": ["lamp"], "content": "It is hers.", "enabled": True, "insertion_order": 1}]
    card = {**V2, "data": {**V2["data"], "character_book": {"entries": entries, "extensions": {}}}}
    kara = (await engine.library.characters.import_card(text_of(card), "kara.json")).character
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(Tab1Edit(world="A sea.", names=NAMES, profiles={Slot.RED: kara.profile}))
    await session.aclose()


@pytest.mark.anyio
async def test_the_book_on_the_card_of_a_character_is_offered(desktop: Desktop) -> None:
    async with desktop.window(make_card) as (pilot, app):
        app.action_chapter_lore()
        await until(pilot, lambda: isinstance(app.screen, ChapterLoreScreen))
        screen = app.screen
        assert isinstance(screen, ChapterLoreScreen)
        await until(pilot, lambda: cells(screen) == [["Mira (card)", "1", "Mira alone", ""]])
        assert app.session is not None
        assert not app.session.snapshot.lore, "nothing of it is taken silently"
        await pilot.press("a")
        await until(pilot, lambda: cells(screen)[0][3] == "known to Mira")
        await pilot.press("d")
        await until(pilot, lambda: cells(screen)[0][3] == "")


def lore_of(app: StoryEngineApp) -> str:
    """Return what the screen says of lore; nothing before it is there."""
    return "".join(view.lines.text.partition("\nLore\n")[2] for view in app.screen.query(PassageView))


SAID = (
    "In the input",
    "Guild, “Oil”: It is always active.",
    "Harbour [x], “The lamp [/x]”: “lamp” is in prompt 2, or in a reply to it.",
    "Matched, and left out",
    "Harbour [x], “Wreck and all”: Chance was against it.",
)


@pytest.mark.anyio
async def test_f7_and_the_next_input_say_of_every_entry_why(desktop: Desktop) -> None:
    async with desktop.window(make_played) as (pilot, app):
        session, engine = app.session, app.engine
        assert session is not None
        assert engine is not None
        calls = calls_of(await session.reads.artifacts(), await session.reads.requests())
        app.push_screen(CallScreen(session, calls[-1]))
        await until(pilot, lambda: isinstance(app.screen, CallScreen) and bool(lore_of(app)))
        shown = lore_of(app)
        assert all(line.replace("prompt 2", "prompt 1") in shown for line in SAID), shown
        assert "Gulls" not in app.screen.query_one(PassageView).lines.text
        await pilot.press("escape")

        async def make() -> Any:
            return await engine.preview(session.id, Slot.ORANGE, "Is the lamp lit?")

        app.push_screen(NextInputScreen("Joss", make, engine.choices[AgentRole.CHARACTER]))
        await until(pilot, lambda: isinstance(app.screen, NextInputScreen) and bool(lore_of(app)))
        shown = lore_of(app)
        assert all(line in shown for line in SAID), shown
        assert "\x1b" not in app.screen.query_one(PassageView).lines.text


def test_the_lorebooks_of_a_chapter_and_what_a_call_says_of_lore(
    desktop: Desktop, pictures_match: PicturesMatch
) -> None:
    desktop.prepare_now(make_played)
    app = desktop.app()

    async def books(pilot: Pilot[Any]) -> None:
        await books_of(pilot, await opened(pilot))

    async def call(pilot: Pilot[Any]) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.session is not None
        calls = calls_of(await app.session.reads.artifacts(), await app.session.reads.requests())
        app.push_screen(CallScreen(app.session, calls[-1]))
        await until(pilot, lambda: isinstance(app.screen, CallScreen) and bool(lore_of(app)))
        await pilot.press("end")

    assert pictures_match(app, {"books": books, "call": call})
