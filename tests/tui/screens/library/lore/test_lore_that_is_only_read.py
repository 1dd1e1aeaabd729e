"""The key line of a lorebook whose format is only read, and of a text that is tried on it."""

import pytest

from storyengine_tui.screens.library.lore.entry_screen import EntryScreen
from storyengine_tui.screens.library.lore.try_screen import OutcomeList, TryScreen
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, in_front, screen_text, until
from tests.tui.screens.library.lore.lore_screens import lorebook_shown, make_novel

pytestmark = pytest.mark.anyio


async def test_enter_shows_an_entry_of_a_book_that_is_only_read_and_edits_it_once_converted(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_novel) as (pilot, app):
        screen = await lorebook_shown(pilot)
        await until(pilot, lambda: "⏎ Show" in screen_text(app))
        assert "⏎ Edit" not in screen_text(app)
        await pilot.press("t")
        trial = await in_front(pilot, TryScreen, CappedTextArea)
        await pilot.press("x")
        await until(pilot, lambda: bool(trial.query_one(OutcomeList).rows))
        trial.query_one(OutcomeList).focus()
        await until(pilot, lambda: "⏎ Show" in screen_text(app) and "⏎ Edit" not in screen_text(app))
        await pilot.press("enter")
        await in_front(pilot, EntryScreen)
        await pilot.press("escape")
        await in_front(pilot, TryScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("c")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await until(pilot, lambda: "⏎ Edit" in screen_text(app))
        assert "⏎ Show" not in screen_text(app)
