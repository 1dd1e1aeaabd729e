"""Tab 2: a reply that broke off is kept as far as it came."""

import pytest
from textual.widgets import Button

from core.domain.requests.request import ReplyRequest
from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.widgets.banner import Banner
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


async def test_a_reply_that_failed_before_its_first_word_is_not_offered_to_be_kept(desktop: Desktop) -> None:
    fault = Entry(match=ScriptMatch(schema="text"), fault=Fault.SERVER_ERROR)
    desktop.script = Script(reply=(fault,))
    async with at_table(desktop) as table:
        await table.send("Who is there?")
        await table.until(table.banner)
        [failed] = table.snapshot.failed(ReplyRequest)
        assert not await table.session.takes.has_partial(failed)
        assert offered(table) == ["retry", "edit"]
