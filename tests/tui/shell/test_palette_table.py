"""The commands of the palette and the keys of a page find the actions of its parts."""

import re
from collections.abc import Iterator

import pytest

from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.shell.palette import TAB_ACTIONS

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
