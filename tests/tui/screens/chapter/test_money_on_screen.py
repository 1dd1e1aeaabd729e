"""Money on the screen: a quiet figure, a question at the ceiling, a forecast; nothing while none is spent."""

from decimal import Decimal

import pytest
from textual.widgets import Button, DataTable, Static

from core.domain.requests.request import ReplyRequest
from core.domain.slot import Slot
from core.ledger.ceilings import Ceilings
from core.ledger.prices import PriceBook
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.chapter.session_listener import SessionListener
from storyengine_tui.screens.play.scene.slot_modals import CalledModal
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, screen_text
from tests.tui.rooms.chapter_page import SCRIPT, chapter_page, make_ended
from tests.tui.rooms.paid_desktop import PaidDesktop
from tests.tui.rooms.play_table import SCRIPT as HELD
from tests.tui.rooms.play_table import Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


@pytest.fixture
def paid(desktop: Desktop) -> PaidDesktop:
    return PaidDesktop(desktop.open_store, desktop.paths)


def figure(table: Table) -> str:
    line = table.pane.query_one("#spent", Static)
    return str(line.render()) if line.display else ""


async def test_tab_2_says_what_the_chapter_has_cost_and_the_next_prompt_to_one_or_several_may_cost(
    paid: PaidDesktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def of_prompt(slot: Slot, *_: object) -> Decimal:
        return Decimal(slot.value)

    async with at_table(paid) as table:
        # A reply may have 8,000 tokens at $10 for a million, and its input is on top.
        await table.until(lambda: figure(table).startswith("$0.31 · next up to $0.08"), "the lock")
        await table.play("Hello")
        await table.until(lambda: figure(table).startswith("$0.62 · next up to $0.08"))
        # It says what a prompt to several costs with all of their replies.
        await table.pilot.press("alt+1")
        await table.pilot.press("alt+s")
        await table.until(lambda: isinstance(table.app.screen, CalledModal))
        table.app.screen.dismiss((Slot.ORANGE,))
        # Two answers of $0.08, of which the second is given the first: 8,000 tokens more at $1 for a million.
        await table.until(lambda: figure(table).startswith("$0.62 · next up to $0.17"), figure(table))
        # It says what a prompt to the character of the panel costs.
        monkeypatch.setattr(table.session.money, "of_prompt", of_prompt)
        await table.pilot.press("alt+3")
        await table.until(lambda: figure(table).endswith("next up to $3.00"), figure(table))
        await table.pilot.press("alt+2")
        await table.until(lambda: figure(table).endswith("next up to $2.00"), figure(table))


async def test_a_blank_is_between_who_is_writing_and_what_the_chapter_has_cost_at_80_columns(
    paid: PaidDesktop, gate: Gate
) -> None:
    paid.script = HELD
    async with at_table(paid, size=(80, 24)) as table:
        await table.session.submit_prompt(Slot.RED, "HOLD", then=(Slot.ORANGE, Slot.YELLOW))
        await table.until(lambda: table.is_streaming and "is writing" in table.busy)
        row = next(line for line in screen_text(table.app).splitlines() if "cancels" in line)
        assert row.startswith("  Mira is writing… · ")


async def test_tab_2_says_nothing_of_money_while_none_is_spent(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Hello")
        assert figure(table) == ""
        assert "$" not in screen_text(table.app)


async def test_a_chapter_of_unknown_price_has_no_figure(paid: PaidDesktop) -> None:
    paid.bill, paid.prices = None, PriceBook()
    async with at_table(paid) as table:
        await table.play("Hello")
        assert figure(table) == ""


async def test_the_call_that_could_pass_the_ceiling_is_asked_about_and_made_when_the_gm_agrees(
    paid: PaidDesktop,
) -> None:
    # The lock has cost $0.31; a reply may cost $0.09.
    paid.ceilings = Ceilings(chapter=Decimal("0.45"))
    async with at_window(paid) as table:
        await table.play("Hello")
        await table.send("Again")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        said = screen_text(table.app)
        assert "Go on beyond your ceiling?" in said
        assert "Allow $0.90" in said
        assert table.text(Slot.ORANGE) == "Again"
        assert "could pass your ceiling of $0.45" in table.banner()
        assert "Retry asks whether to go on." in table.banner()
        await table.pilot.click(table.app.screen.query_one("#confirm", Button))
        await table.until(lambda: table.played(2))
        assert table.banner() == ""


async def test_at_the_ceiling_nothing_is_sent_before_the_gm_agrees_to_one_question_after_the_other(
    paid: PaidDesktop,
) -> None:
    paid.ceilings = Ceilings(day=Decimal("0.35"))
    async with at_window(paid) as table:
        # What is typed while the question opens goes on into the panel.
        await table.send("Hello")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        await table.pilot.press(*" you", "enter")
        await table.until(lambda: not isinstance(table.app.screen, ConfirmModal))
        assert table.text(Slot.RED) == "Hello you"
        assert table.stored.prompt_index == 0, "Enter has left the ceiling as it is"
        # Nothing is sent when the GM does not agree, and it is asked again.
        await table.pilot.press("ctrl+r")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal), "it is asked again")
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, ConfirmModal))
        assert table.text(Slot.RED) == "Hello you"
        assert table.stored.prompt_index == 0
        # Two calls that are refused at the ceiling are asked about one after the other.
        await table.pilot.press("ctrl+r")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        question, [failed] = table.app.screen, table.snapshot.failed(ReplyRequest)
        chapter = table.app.screen_stack[0]
        chapter.post_message(SessionListener.RepairWanted(failed.id))  # as a summary that fails beside it
        for _ in range(20):
            await table.pilot.pause()
        assert table.app.screen is question, "another question lies over the first"
        await table.pilot.click(question.query_one("#confirm", Button))
        await table.until(lambda: table.played(1))
        assert table.banner() == ""


async def test_f7_lists_what_each_call_cost_and_the_sum(paid: PaidDesktop) -> None:
    async with at_window(paid, prompts=2) as table:
        await table.pilot.press("f7")
        await table.until(lambda: isinstance(table.app.screen, CallsScreen))
        calls = table.app.screen.query_one(DataTable)
        await table.until(lambda: calls.row_count == 3)
        assert [str(column.label) for column in calls.ordered_columns][-2:] == ["Cost", " Outcome"]
        assert [str(calls.get_row_at(row)[-2]) for row in range(3)] == ["$0.31"] * 3
        assert "$0.93" in str(table.app.screen.query_one("#totals", Static).render())
        await table.pilot.press("enter")
        await table.until(lambda: "Cost: $0.31, by the service's own bill" in screen_text(table.app))
        assert "$1 in, $0.1 from cache, $10 out" in screen_text(table.app)


async def test_tab_3_says_what_a_build_costs_at_most_once_money_was_spent(paid: PaidDesktop) -> None:
    paid.script = SCRIPT
    async with chapter_page(paid, make_ended) as page:
        why = page.pane.query_one("#why", Static)
        # 32,000 tokens of output at $10 for a million, and the input. Until now: lock, two replies, summary.
        await page.until(lambda: "A build costs up to $0.3" in str(why.render()))
        assert "the chapter has cost $1.24 so far" in str(why.render())


async def test_tab_3_says_nothing_of_money_while_none_is_spent(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        assert not page.pane.query_one("#why", Static).display
