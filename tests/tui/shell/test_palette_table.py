"""The commands of the palette and the keys of a page find the actions of its parts; words find commands."""

import re
from collections.abc import Iterator

import pytest
from textual.command import CommandList, CommandPalette

from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.shell.palette_commands import TAB_ACTIONS
from tests.tui.engine_app import Desktop, make_active, screen_text, until

pytestmark = pytest.mark.anyio

PAGES: dict[str, type[SessionTab]] = {"setup": SetupPane, "play": PlayPane, "narrative": NarrativePane}


@pytest.mark.parametrize("tab", PAGES)
async def test_every_command_of_the_palette_is_an_action_of_its_page(tab: str) -> None:
    page = PAGES[tab]()
    names = [re.sub(r"\(.*", "", action) for at, action, *_ in TAB_ACTIONS if at == tab]
    assert [name for name in names if not hasattr(page, f"action_{name}")] == []


@pytest.mark.parametrize("tab", PAGES)
async def test_every_key_of_a_page_is_bound_to_one_of_its_actions(tab: str) -> None:
    page = PAGES[tab]()
    names = [re.sub(r"\(.*", "", binding.action) for _, binding in page._bindings]
    assert [name for name in names if not hasattr(page, f"action_{name}")] == []


async def test_every_action_of_a_part_of_tab_2_is_one_of_the_page() -> None:
    page = PlayPane()

    def actions() -> Iterator[str]:
        for part in PageActions.__subclasses__():
            yield from (name for name in vars(part) if name.startswith("action_"))

    assert [name for name in actions() if not hasattr(page, name)] == []


async def test_the_palette_finds_a_command_by_words_of_its_description_below_those_with_the_name(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):

        async def found(words: str, count: int) -> list[str]:
            await pilot.press("ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, CommandPalette))
            await pilot.press(*words)
            options = app.screen.query_one(CommandList)
            await until(pilot, lambda: options.option_count == count, words)
            names = [str(option.prompt).splitlines()[0] for option in options.options]
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)
            return names

        assert await found("whisper", 1) == ["Choose who hears it"]
        assert await found("scene", 3) == ["New scene", "Away for a while", "Choose who hears it"]
        assert await found("empty", 3) == ["Example", "New chapter", "Reset Chapter"]
        assert await found("chapter next", 0) == []
        assert await found("chapter end", 1) == ["End Chapter"]
        for word in ("cost", "price", "ceiling", "money"):
            assert await found(word, 1) == ["Calls"]


async def test_letters_that_lie_apart_in_the_name_of_a_command_do_not_find_it(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"nwscn")
        await until(pilot, lambda: "No matches found" in screen_text(app))
        await pilot.press("enter")
        assert isinstance(app.screen, CommandPalette)
        await pilot.press("escape")
