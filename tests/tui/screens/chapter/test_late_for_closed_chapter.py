"""Commands, keys and clicks from just before a chapter closed arrive too late, and break nothing."""

import pytest
from textual.widgets import Button
from textual.worker import WorkerState

from core.domain.slot import Slot
from storyengine_tui.widgets.busy_line import BusyLine
from tests.tui.engine_app import Desktop
from tests.tui.rooms.chapter_page import SCRIPT, chapter_page, make_ended
from tests.tui.rooms.play_table import Gate, at_table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


async def test_what_tab_3_began_to_do_for_a_chapter_that_closes_ends_without_an_error(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        page.pane.memory.forget()
        page.pane.memory.read()
        page.pane.build.action_build()
        begun = [worker for worker in page.app.workers if worker.group in ("memory", "build")]
        page.pane.detach()
        await page.app.workers.wait_for_complete(begun)
        assert [worker.state for worker in begun] == [WorkerState.SUCCESS] * 2
        assert not page.session.snapshot.open_requests, "it was not asked of this chapter any more"
        assert not page.memory.blocks


async def test_a_prompt_that_is_taken_back_while_its_chapter_closes_is_stored_and_put_in_no_other_panel(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        await table.queue("And you?")
        table.pane.requests.action_take_back()
        [begun] = [worker for worker in table.app.workers if worker.group == "do"]
        table.pane.detach()
        await table.app.workers.wait_for_complete([begun])
        assert table.text(Slot.ORANGE) == ""
        assert table.snapshot.unsent[Slot.ORANGE] == "And you?"
        gate.open()


async def test_a_click_that_arrives_when_its_chapter_is_closed_is_refused_with_a_sentence(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        late = BusyLine.CancelRequested(table.pane.query_one(BusyLine))
        gate.open()
        table.pane.detach()
        await table.session.aclose()
        table.pane.post_message(late)
        table.pane.post_message(Button.Pressed(table.end_button))
        table.pane.do(table.session.end_chapter())
        await table.until(table.trouble)
        assert "closed" in table.trouble()
