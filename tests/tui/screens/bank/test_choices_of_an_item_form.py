"""Choices of the form of an item, which are not kept as its texts are, are not lost unasked."""

import pytest
from textual.widgets import Select

from core.domain.slot import Slot
from storyengine_tui.screens.bank.item_modal import ItemModal
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, screen_text
from tests.tui.rooms.bank_tab import tab3

pytestmark = pytest.mark.anyio


async def test_the_end_of_the_program_asks_before_a_changed_choice_is_lost(desktop: Desktop) -> None:
    async with tab3(desktop, shown="6") as tab:
        await tab.press("down", "e")
        await tab.until(lambda: isinstance(tab.app.screen, ItemModal))
        form = tab.app.screen
        assert isinstance(form, ItemModal)
        assert not form.unsaved
        await tab.press(*" Typed.")
        assert not form.unsaved, "a text is kept"
        about = form.query_one("#about", Select)
        before = about.value
        about.value = Slot.ORANGE.value
        await tab.press("ctrl+q")
        await tab.until(lambda: isinstance(tab.app.screen, ConfirmModal))
        assert "choices are not saved" in " ".join(screen_text(tab.app).split())
        await tab.press("escape")
        await tab.until(lambda: tab.app.screen is form)
        about.value = before
        assert not form.unsaved
