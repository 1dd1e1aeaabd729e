"""Tab 2: following the text, reading elsewhere, selecting and copying, and terminals of any size."""

from dataclasses import replace

import pytest
from textual.geometry import Region
from textual.widget import Widget
from textual.widgets import Button, Static

from core.domain.slot import Slot
from core.domain.story.event import REPEATS
from core.engine.recall.reading import NOT_IN_TIME
from core.engine.sync.notifications import EventsAppended
from core.text.cleaning import clean
from storyengine_tui.screens.play.failure_banners import FailureBanners
from storyengine_tui.screens.play.transcript.transcript_panel import MoreBelow
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Gate, Table, at_table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


def more_below(table: Table) -> bool:
    """Whether the page says that there is more."""
    return table.pane.query_one(MoreBelow).visible


def visible(table: Table) -> str:
    """The visible lines of the transcript."""
    view = table.transcript
    return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


async def test_scrolling_up_stops_following_and_end_takes_hold_again(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop, prompts=6, size=(80, 24)) as table:
        assert not more_below(table)
        assert "6) Prompt number 6." in visible(table)
        await table.send("HOLD")
        await table.until(lambda: visible(table).endswith("Mira: I"))
        await table.pilot.press("pageup")
        await table.until(lambda: more_below(table))
        before = visible(table)
        assert "Mira: I hold" not in before
        gate.open()
        await table.until(lambda: table.played(7))
        assert visible(table) == before
        await table.pilot.press("end")
        await table.until(lambda: not more_below(table))
        assert "I hold on." in visible(table)
        table.transcript.focus()
        await table.pilot.press("pageup", "end")
        await table.until(lambda: not more_below(table))


async def test_a_click_on_more_and_a_prompt_that_is_sent_go_to_the_end(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=6, size=(80, 24)) as table:
        await table.pilot.press("pageup")
        await table.until(lambda: more_below(table))
        await table.pilot.click(MoreBelow)
        await table.until(lambda: not more_below(table))
        await table.pilot.press("pageup", "pageup")
        await table.until(lambda: more_below(table))
        await table.play("Here I am")
        assert not more_below(table)
        assert "Here I am" in visible(table)


async def test_end_in_the_middle_of_a_line_is_the_end_of_the_line(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=6, size=(80, 24)) as table:
        await table.type("abc")
        await table.pilot.press("pageup", "home", "end")
        assert table.area(Slot.RED).cursor_location == (0, 3)
        assert more_below(table)
        await table.pilot.press("end")
        await table.until(lambda: not more_below(table))


async def test_copied_text_is_plain_with_its_prefixes(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=2) as table:
        table.transcript.focus()
        await table.pilot.press("ctrl+a", "ctrl+c")
        assert table.app.clipboard == (
            "1) Prompt number 1.\n\nMira: I see.\n\n2) Prompt number 2.\n\nJonas [/x]: I see."
        )


async def test_resizing_at_any_moment_keeps_place_text_and_panel(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop, prompts=6, size=(120, 40)) as table:
        await table.begin()
        await table.type("half a thought")
        for size in ((80, 24), (60, 20), (200, 60), (80, 24)):
            await table.pilot.resize_terminal(*size)
            await table.pilot.pause()
            assert table.text(Slot.ORANGE) == "half a thought"
            assert table.slot() is Slot.ORANGE
            assert visible(table).rstrip().endswith("Mira: I"), size
        gate.open()
        await table.until(lambda: table.played(7))


async def test_nothing_needed_is_cut_off_at_80_by_24_when_everything_is_there(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop, prompts=3, size=(80, 21)) as table:  # Without tabs, title and footer.
        await table.send("FAIL")
        await table.until(table.banner)
        table.pane.query_one(FailureBanners).show_left_out(["one old prompt"])
        await table.type("still typing")
        await table.pilot.pause()
        page = Region(0, 0, 80, 21)
        shown: list[Widget] = [table.transcript, table.end_button, table.area(table.slot())]
        shown += [
            table.pane.query_one("#prompt-entries"),
            *table.pane.query_one("#reply-failed").query(Button),
        ]
        for widget in shown:
            assert widget.region.area, widget
            assert page.contains_region(widget.region), widget
        assert table.transcript.size.height >= 3


async def test_what_a_model_was_not_given_is_said_with_its_own_reason_and_no_other(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        table.pane.query_one(FailureBanners).show_left_out([NOT_IN_TIME])
        line = str(table.pane.query_one("#left-out", Static).content)
        assert line.startswith("Left out: The memory bank (it did not answer in time).")


async def test_a_reply_that_only_repeats_something_is_shown_as_such(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=2) as table:
        line = table.pane.query_one("#left-out", Static)
        *_, reply = table.snapshot.recent
        repeated = replace(reply, prompt_index=3, metadata={REPEATS: "the reply to prompt 1 [/x]"})
        table.pane.on_notification(EventsAppended((repeated,)))
        assert line.display
        assert "This reply repeats the reply to prompt 1 [/x]" in str(line.content)
        await table.send("And then?")
        await table.until(lambda: not line.display)


async def test_text_is_data(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        nasty = "[/x] [red]not red[/red] \x1b[31mnor this\x1b[0m :smile:"
        table.area(Slot.RED).insert(nasty)
        await table.pilot.press("enter")
        await table.until(lambda: table.played(1))
        assert f"1) {clean(nasty)}" in table.transcript.text
        assert "[red]not red[/red]" in visible(table)
