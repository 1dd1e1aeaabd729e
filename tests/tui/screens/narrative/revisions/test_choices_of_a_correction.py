"""Who is given a correction is not kept as its text is, and is not lost unasked: everyone would get it."""

import pytest

from storyengine_tui.widgets.dialogs.storing_modal import CHOICES_NOT_STORED
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from tests.tui.engine_app import Desktop
from tests.tui.screens.narrative.test_viewpoints import correction_begun, whispered_page

pytestmark = pytest.mark.anyio


async def test_the_end_of_the_program_asks_before_it_is_lost_who_is_given_a_correction(
    desktop: Desktop,
) -> None:
    async with whispered_page(desktop) as page:
        dialog = await correction_begun(page)
        await page.pilot.press(*"Wrong.")
        await page.until(lambda: dialog.has_changes)
        assert str(dialog.unsaved) == "", "the text is kept"
        dialog.query_one(SlotChecks).focus()
        await page.pilot.press("1")
        await page.until(lambda: dialog.unsaved == CHOICES_NOT_STORED)
        await page.pilot.press("1")
        await page.until(lambda: not dialog.unsaved)
