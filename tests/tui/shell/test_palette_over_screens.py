"""The palette offers what is possible by now, and what it runs shows in front, whatever is open."""

from collections.abc import Sequence

import anyio
import pytest
from textual.command import CommandList, CommandPalette
from textual.command import Hits as Offers
from textual.widgets import OptionList

from core.storage.session_store import SessionStore
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.play.scene.line_modals import NarrationModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette import PossibleCommands
from storyengine_tui.shell.palette_commands import TAB_ACTIONS
from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.textual_ext.repairs.command_palette import GuardedCommandPalette
from tests.tui.engine_app import Desktop, make_active, make_draft, until

pytestmark = pytest.mark.anyio


def offered(app: StoryEngineApp) -> Sequence[str]:
    """Return the names of the commands that the palette shows."""
    return [str(option.prompt).partition("\n")[0] for option in app.screen.query_one(OptionList).options]


def cursor_of(app: StoryEngineApp) -> str | None:
    """Return the name of the command with the cursor."""
    at = app.screen.query_one(OptionList).highlighted
    return None if at is None else offered(app)[at]


def hold_searches(monkeypatch: pytest.MonkeyPatch, goes_on: anyio.Event) -> list[str]:
    """Hold searches for commands back until they may go on; return a list that has the words of each."""
    search, searched = PossibleCommands.search, list[str]()

    async def search_late(provider: PossibleCommands, query: str) -> Offers:
        searched.append(query)
        await goes_on.wait()
        async for offer in search(provider, query):
            yield offer

    monkeypatch.setattr(PossibleCommands, "search", search_late)
    return searched


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_a_palette_that_is_opened_while_the_database_starts_offers_all_once_it_runs(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_draft)
    goes_on, open_store = anyio.Event(), desktop.open_store

    async def open_late() -> SessionStore:
        await goes_on.wait()
        return await open_store()

    monkeypatch.setattr(desktop, "open_store", open_late)
    app = desktop.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette) and "Quit" in offered(app))
        assert offered(app) == ["Help", "Quit"]
        await pilot.press("down")
        goes_on.set()
        await until(pilot, lambda: "World" in offered(app))
        assert {"Chapters", "Model", "Calls", "Library"} <= set(offered(app))
        # The cursor is where it was, though the command is elsewhere in the list.
        assert cursor_of(app) == "Quit"


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_a_palette_that_finds_a_command_a_moment_later_does_not_say_that_it_found_none(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        may_do, gone = app.chapter.may_do, {"roll_dice"}
        monkeypatch.setattr(app.chapter, "may_do", lambda tab, act: act not in gone and may_do(tab, act))
        await pilot.press("ctrl+p", *"roll dice")
        palette = app.screen
        assert isinstance(palette, GuardedCommandPalette)
        await until(pilot, lambda: palette._no_matches_timer is not None)
        assert offered(app) == []
        gone.clear()
        app.chapter.refresh_bindings()
        await until(pilot, lambda: "Roll dice" in offered(app))
        await pilot.pause(palette._NO_MATCHES_COUNTDOWN * 2)
        assert offered(app) == ["Roll dice"]


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_enter_runs_what_was_found_also_when_other_commands_became_possible_during_the_search(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        may_do, gone, goes_on = app.chapter.may_do, {"roll_dice"}, anyio.Event()
        monkeypatch.setattr(app.chapter, "may_do", lambda tab, act: act not in gone and may_do(tab, act))
        searched = hold_searches(monkeypatch, goes_on)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: cursor_of(app) is not None)
        await pilot.press(*"new scene")
        await until(pilot, lambda: "new scene" in searched)
        gone.clear()
        app.chapter.refresh_bindings()
        await until(pilot, lambda: searched.count("new scene") == 2)
        goes_on.set()
        await until(pilot, lambda: offered(app) == ["New scene"])
        assert cursor_of(app) == "New scene"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, NarrationModal))


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_a_command_that_is_pointed_at_while_the_same_words_are_searched_again_keeps_the_cursor(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        may_do, gone, goes_on = app.chapter.may_do, {"roll_dice"}, anyio.Event()
        monkeypatch.setattr(app.chapter, "may_do", lambda tab, act: act not in gone and may_do(tab, act))
        await pilot.press("ctrl+p", *"line")
        await until(pilot, lambda: cursor_of(app) == "Add a line")
        searched = hold_searches(monkeypatch, goes_on)
        gone.clear()
        app.chapter.refresh_bindings()
        await until(pilot, lambda: searched == ["line"])
        await pilot.press("down")
        assert cursor_of(app) == "New scene"
        palette = app.screen
        assert isinstance(palette, GuardedCommandPalette)
        goes_on.set()
        await until(pilot, lambda: palette._search is None)
        assert cursor_of(app) == "New scene"


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_a_search_for_commands_that_ends_while_the_window_closes_is_no_fault(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, app):
        await pilot.press("ctrl+p", *"roll dice")
        await until(pilot, lambda: "Roll dice" in offered(app))
        palette = app.screen
        assert isinstance(palette, GuardedCommandPalette)
        commands = palette.query_one(CommandList)
        await commands.remove()
        palette._refresh_command_list(commands, [], clear_current=True)
        await pilot.pause()


@pytest.mark.parametrize(
    "keys", [("f7",), ("f5",), ("f5", "slash", "a"), ("f6",), ("f7", "ctrl+p", *"chapters", "enter")]
)
async def test_a_command_of_the_page_shows_in_front_whatever_was_open(
    desktop: Desktop, keys: Sequence[str]
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: isinstance(app.screen, CallsScreen | ChaptersScreen | ModelScreen))
        await pilot.press("ctrl+p", *"add a line", "enter")
        await until(pilot, lambda: isinstance(app.screen, NarrationModal))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.chapter.active_tab == "play"


async def test_of_commands_with_the_same_word_those_of_the_tab_that_shows_come_first(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        for key, first in (("f3", "Correct the reply"), ("f4", "Correct memory")):
            await pilot.press(key)
            await pilot.press("ctrl+p", *"correct")
            await until(pilot, lambda: len(offered(app)) == 2)
            assert offered(app)[0] == first
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)


@pytest.mark.needs(Part.COMMAND_PALETTE)
async def test_a_command_that_becomes_impossible_leaves_the_palette_and_its_enter_runs_no_other(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        await pilot.press("ctrl+p", *"line")
        await until(pilot, lambda: cursor_of(app) == "Add a line")
        may_do, gone = app.chapter.may_do, {"add_line"}
        monkeypatch.setattr(app.chapter, "may_do", lambda tab, act: act not in gone and may_do(tab, act))
        app.chapter.refresh_bindings()
        await until(pilot, lambda: "Add a line" not in offered(app))
        assert offered(app)[:1] == ["New scene"]
        assert cursor_of(app) is None
        others = set(offered(app))
        gone |= {action for _, action, name, _ in TAB_ACTIONS if name in others - {"New scene"}}
        app.chapter.refresh_bindings()
        await until(pilot, lambda: set(offered(app)) != others)
        assert cursor_of(app) is None
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
