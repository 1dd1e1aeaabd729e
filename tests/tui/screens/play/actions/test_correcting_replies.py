"""Tab 2: a reply that the GM corrects by hand (design 12)."""

import pytest
from textual.widgets import Button, Static

from storyengine_tui.screens.play.actions.take_modals import ReplyModal
from storyengine_tui.screens.play.transcript.transcript_panel import TakeLine
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import at_table, at_window

pytestmark = pytest.mark.anyio


async def test_a_reply_is_corrected_by_hand(desktop: Desktop) -> None:
    async with at_window(desktop, prompts=1) as table:
        table.pane.takes.action_correct_reply()
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))
        dialog = table.app.screen
        assert dialog.query_one("#add", Button).disabled
        await table.type(" Now.")
        await table.until(lambda: not dialog.query_one("#add", Button).disabled)
        dialog.query_one("#add", Button).press()
        await table.until(lambda: table.pane.query_one(TakeLine).content[0] == "Take 2 of 2")
        assert table.transcript.text.endswith("Now.")


async def test_a_correction_of_a_reply_is_asked_about_before_escape_discards_it(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        table.pane.takes.action_correct_reply()
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))
        await table.type(" Now.")
        await table.pilot.press("escape")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        await table.pilot.press("escape")
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))
        assert table.app.screen.query_one(CappedTextArea).text.endswith(" Now.")


async def test_a_correction_of_a_reply_stays_in_its_field_when_it_is_not_stored(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        table.pane.takes.action_correct_reply()
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))
        dialog = table.app.screen
        await table.type(" Now.")
        newer = await table.session.submit_prompt(table.stored.next_slot, "And you?")
        await table.session.wait(newer)
        dialog.query_one("#add", Button).press()
        refused = dialog.query_one("#refused", Static)
        await table.until(lambda: "The newest reply is another one now" in str(refused.content))
        assert dialog.query_one(CappedTextArea).text.endswith(" Now.")
        assert not any(event.text.endswith(" Now.") for event in await table.events())


@pytest.mark.parametrize(("rows", "most"), [(24, 13), (35, 23), (36, 23), (60, 44)])
async def test_a_reply_to_correct_has_the_rows_that_the_terminal_has_to_spare(
    desktop: Desktop, rows: int, most: int
) -> None:
    async with at_table(desktop, prompts=1) as table:
        await table.pilot.resize_terminal(120, rows)
        table.pane.takes.action_correct_reply()
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))
        dialog = table.app.screen
        await table.until(lambda: dialog.query_one(CappedTextArea).outer_size.height == most)
        box, add = dialog.query_one(".dialog--box"), dialog.query_one("#add")
        assert 0 <= box.region.y < add.region.bottom < box.region.bottom <= rows
