"""Tab 2: a reply that broke off is kept as far as it came."""

import pytest
from textual.widgets import Button

from core.domain.requests.request import ReplyRequest
from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.play.actions.take_actions import GIVEN_UP
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Table, at_table

pytestmark = pytest.mark.anyio


def offered(table: Table) -> list[str]:
    """What the banner of a failed reply offers."""
    content = table.pane.query_one("#reply-failed", Banner).content
    return [] if content is None else [action.name for action in content.actions]


async def test_a_reply_whose_connection_broke_can_be_kept_as_far_as_it_came(desktop: Desktop) -> None:
    desktop.script = Script(reply=(Entry(match=ScriptMatch(schema="text"), text="I see.", fault=Fault.CUT),))
    async with at_table(desktop) as table:
        await table.send("Who is there?")
        await table.until(lambda: "keep" in offered(table))
        assert "broke off within the answer" in table.banner()
        await table.pilot.click(table.pane.query_one("#reply-failed", Banner).query(Button).last())
        await table.until(lambda: table.transcript.text.startswith("1) Who is there?\n\nMira: I"))
        assert table.text(Slot.RED) == ""
        assert table.banner() == ""


async def test_a_take_of_an_earlier_prompt_asks_first_where_it_gives_up_what_came_of_a_reply(
    desktop: Desktop,
) -> None:
    desktop.script = Script(
        reply=(
            Entry(match=ScriptMatch(schema="text", last="Who"), text="I see.", fault=Fault.CUT),
            Entry(match=ScriptMatch(schema="text"), text="Yes."),
        )
    )
    async with at_table(desktop) as table:
        await table.play("Ready?")
        await table.send("Who is there?")
        await table.until(lambda: "keep" in offered(table))
        [failed] = table.snapshot.failed(ReplyRequest)
        await table.choose("f9", ConfirmModal, "enter")
        assert table.snapshot.failed(ReplyRequest) == (failed,)
        await table.pane.run_action("end_chapter")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        assert "The unfinished reply of" in str(table.app.screen.query(".confirm--text").first().render())
        await table.pilot.press("escape")
        await table.choose("f9", ConfirmModal, "tab", "enter")
        await table.until(lambda: table.snapshot.take_count(1) == 2 and not table.is_streaming)
        assert not table.snapshot.failed(ReplyRequest)
        assert "Who is there?" in [area.text for area in table.composer]


async def test_the_end_says_nothing_of_a_reply_that_was_stopped_before_its_first_word(
    desktop: Desktop,
) -> None:
    slow = Entry(match=ScriptMatch(schema="text", last="HOLD"), text="I see.", first_token=3600.0)
    desktop.script = Script(reply=(slow, Entry(match=ScriptMatch(schema="text"), text="Yes.")))
    async with at_table(desktop) as table:
        await table.play("Ready?")
        await table.send("HOLD")
        await table.until(lambda: table.pane.view is not None and table.pane.view.running is not None)
        await table.pilot.press("escape")
        await table.until(lambda: table.snapshot.failed(ReplyRequest))
        await table.pane.run_action("end_chapter")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        text = str(table.app.screen.query(".confirm--text").first().render())
        assert "Text that is not sent yet stays where it is" in text
        assert "The unfinished reply of" not in text


async def test_a_reply_that_was_stopped_before_its_first_word_is_not_offered_to_be_kept(
    desktop: Desktop,
) -> None:
    slow = Entry(match=ScriptMatch(schema="text"), text="I see.", first_token=3600.0)
    desktop.script = Script(reply=(slow,))
    async with at_table(desktop) as table:
        await table.send("Who is there?")
        await table.until(lambda: table.pane.view is not None and table.pane.view.running is not None)
        await table.pilot.press("escape")
        await table.until(table.banner)
        assert offered(table) == ["retry", "edit"]
        assert not table.pane.check_action("keep_partial", ())


async def test_a_take_gives_up_a_reply_that_failed_before_its_first_word_unasked(desktop: Desktop) -> None:
    fault = Entry(match=ScriptMatch(schema="text", last="Who"), fault=Fault.SERVER_ERROR)
    desktop.script = Script(reply=(fault, Entry(match=ScriptMatch(schema="text"), text="Yes.")))
    async with at_table(desktop) as table:
        await table.play("Ready?")
        await table.send("Who is there?")
        await table.until(table.banner)
        await table.pilot.press("f9")
        await table.until(lambda: table.snapshot.take_count(1) == 2)


async def test_a_reply_that_failed_before_its_first_word_is_not_offered_to_be_kept(desktop: Desktop) -> None:
    fault = Entry(match=ScriptMatch(schema="text"), fault=Fault.SERVER_ERROR)
    desktop.script = Script(reply=(fault,))
    async with at_table(desktop) as table:
        await table.send("Who is there?")
        await table.until(table.banner)
        [failed] = table.snapshot.failed(ReplyRequest)
        assert not await table.session.takes.has_partial(failed)
        assert offered(table) == ["retry", "edit"]


@pytest.mark.parametrize("action", ["undo", "redo"])
async def test_undo_and_redo_ask_first_where_they_give_up_what_came_of_a_take(
    desktop: Desktop, action: str
) -> None:
    whole = Entry(match=ScriptMatch(schema="text"), text="Yes.", calls=(1, 2))
    desktop.script = Script(
        reply=(whole, Entry(match=ScriptMatch(schema="text"), text="I see.", fault=Fault.CUT))
    )
    async with at_table(desktop) as table:
        await table.play("Ready?")
        await table.play("Who is there?")
        if action == "redo":
            await table.pane.run_action("undo")
            await table.until(lambda: table.stored.prompt_index == 1)
            await table.choose("f9", ConfirmModal, "tab", "enter")
        else:
            await table.pilot.press("f9")
        await table.until(lambda: "keep" in offered(table))
        [failed] = table.snapshot.failed(ReplyRequest)
        before = table.stored.prompt_index
        await table.pane.run_action(action)
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        assert "The unfinished reply of" in str(table.app.screen.query(".confirm--text").first().render())
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, ConfirmModal))
        assert (table.snapshot.failed(ReplyRequest), table.stored.prompt_index) == ((failed,), before)
        await table.pane.run_action(action)
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        await table.pilot.press("tab", "enter")
        await table.until(lambda: table.stored.prompt_index == before + (1 if action == "redo" else -1))
        assert not table.snapshot.failed(ReplyRequest)


@pytest.mark.parametrize("is_kept", [False, True])
async def test_it_is_told_where_a_reply_is_that_broke_off_once_another_prompt_was_sent(
    desktop: Desktop, is_kept: bool
) -> None:
    broken = Entry(match=ScriptMatch(schema="text"), text="I see.", fault=Fault.CUT, times=1)
    desktop.script = Script(reply=(broken, Entry(match=ScriptMatch(schema="text"), text="Yes.")))
    async with at_table(desktop) as table:
        await table.send("Who is there?")
        await table.until(lambda: "keep" in offered(table))
        if is_kept:
            await table.pane.run_action("keep_partial")
            await table.until(lambda: table.stored.prompt_index == 1)
        await table.pilot.press("alt+2")
        await table.play("And now?")
        told = [one.message for one in table.app._notifications]
        assert told == ([] if is_kept else [GIVEN_UP.format("Mira")])
