"""What lies over the chapter closes itself alone and once, whatever keys come in one moment."""

import pytest
from textual.events import Key
from textual.widgets import OptionList

from storyengine_tui.app import StoryEngineApp
from storyengine_tui.screens.help_screen import HelpScreen
from storyengine_tui.widgets.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, make_draft, opened, until
from tests.tui.engine_app import desktop as desktop
from tests.tui.engine_app import screen_template as screen_template

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("keys", ["enter enter", "down enter enter", "enter enter enter enter"])
async def test_keys_that_come_twice_in_the_palette_run_one_command(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    await desktop.prepare(make_draft)
    opened_screens: list[None] = []
    monkeypatch.setattr(StoryEngineApp, "action_model", lambda self: opened_screens.append(None))
    async with desktop.app().run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+p", *"model")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
        for key in keys.split():  # In one write, as from a slow line.
            app.post_message(Key(key, None))
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, lambda: opened_screens)
        await pilot.pause()
        assert len(opened_screens) == 1
        assert app.bug is None
        await app.close_everything()


async def test_a_dialog_that_is_done_under_the_help_closes_itself_alone(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        results: list[bool | None] = []
        dialog = ConfirmModal("Sure?", "It is a question.", confirm="Yes")
        app.push_screen(dialog, results.append)
        await until(pilot, lambda: app.screen is dialog)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        dialog.dismiss(True)
        dialog.dismiss(False)
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await until(pilot, lambda: results)
        assert results == [True]
        await app.close_everything()
