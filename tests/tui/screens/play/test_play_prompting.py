"""Tab 2: prompting one character after the other, and watching the replies come."""

import pytest
from textual import events
from textual.widgets import Button

from core.domain.slot import Slot
from storyengine_tui.widgets.panel_switcher import SlotEntries
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Gate, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


async def test_an_empty_chapter_begins_with_the_first_character_and_the_gm_picks_any_panel(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        # An empty chapter begins with the first character and Enter on nothing sends nothing.
        assert table.slot() is Slot.RED
        assert table.area(Slot.RED).has_focus
        assert table.counter == "0/60,000"
        assert table.transcript.text == ""
        assert table.busy == ""
        await table.send("  ")
        await table.pilot.pause()
        assert not table.snapshot.requests
        assert table.text(Slot.RED) == "  "
        assert table.trouble() == ""
        table.area(Slot.RED).clear()
        # Arrows stay among the entries, Enter goes in and so does a click.
        await table.pilot.press("tab", "right")
        assert table.area(Slot.ORANGE).display
        assert table.pane.query_one(SlotEntries).has_focus
        await table.pilot.press("right", "enter")
        assert table.slot() is Slot.YELLOW
        assert table.area(Slot.YELLOW).has_focus
        entries = table.pane.query_one(SlotEntries)
        x = next(x for x in range(60) if entries.key_at(x) == "red")
        await table.pilot.click(SlotEntries, offset=(x + 2, 0))
        assert table.slot() is Slot.RED
        assert table.area(Slot.RED).has_focus
        # The GM picks any panel by key.
        seen = []
        for keys in (["ctrl+n"], ["ctrl+n", "ctrl+n"], ["tab", "3"], ["alt+2"]):
            await table.pilot.press(*keys)
            seen.append(table.slot())
            assert table.area(table.slot()).has_focus
        assert seen == [Slot.ORANGE, Slot.RED, Slot.YELLOW, Slot.ORANGE]
        await table.play("Out of order")
        assert (await table.events())[1].slot is Slot.ORANGE
        assert table.slot() is Slot.YELLOW


async def test_enter_sends_and_the_reply_is_shown_with_its_prefix(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        assert table.transcript.text == "1) Who is there?\n\nMira: I see."
        assert table.counter == f"{len(table.transcript.text)}/60,000"
        assert table.text(Slot.RED) == ""
        assert [event.text for event in await table.events()] == ["Who is there?", "I see."]


async def test_ctrl_j_and_shift_enter_are_new_lines_and_pasted_breaks_stay(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.type("one\ntwo")
        await table.pilot.press("shift+enter")
        await table.type("three")
        table.app.post_message(events.Paste("\nfour\r\n\nfive"))
        await table.pilot.pause()
        assert table.text(Slot.RED) == "one\ntwo\nthree\nfour\n\nfive"
        await table.pilot.press("enter")
        await table.until(lambda: table.played(1))
        assert (await table.events())[0].text == "one\ntwo\nthree\nfour\n\nfive"


async def test_enter_while_the_chapter_is_closed_leaves_the_text_in_its_panel(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.type("Who is there?")
        await table.pane.flush()
        session = table.session
        table.pane.detach()
        await table.pilot.press("enter")
        await table.pilot.pause()
        assert table.text(Slot.RED) == session.snapshot.unsent[Slot.RED] == "Who is there?"
        assert not session.snapshot.requests
        await table.pane.attach(session)
        assert table.text(Slot.RED) == "Who is there?"


async def test_the_panel_moves_on_and_around(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        seen = []
        for number in range(4):
            seen.append(table.slot())
            await table.play(f"Prompt {number}")
            assert table.area(table.slot()).has_focus
        assert seen == [Slot.RED, Slot.ORANGE, Slot.YELLOW, Slot.RED]
        assert [event.slot for event in await table.events() if event.slot] == seen


async def test_the_entries_have_number_and_name_and_names_are_data(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        row = str(table.pane.query_one(SlotEntries).render())
        assert row.split() == ["[1", "Mira]", "2", "Jonas", "[/x]", "3", "Agent", "Yellow"]
        await table.pilot.press("ctrl+n")
        assert "To 2 Jonas \\[/x]" in str(table.area(Slot.ORANGE).border_title)
        await table.play("Speak")
        assert table.transcript.text.endswith("Jonas [/x]: I see.")


async def test_a_reply_grows_in_place_while_the_gm_sees_who_writes(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD")
        await table.until(lambda: table.transcript.text == "1) HOLD\n\nMira: I")
        assert table.busy.startswith("Mira is writing · 0:0")
        assert table.busy.endswith("Esc cancels")
        assert table.stored.prompt_index == 0
        assert table.counter == "0/60,000"
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.transcript.text == "1) HOLD\n\nMira: I hold on. Then I let go."
        assert table.busy == ""


async def test_the_next_panel_shows_while_the_reply_streams_and_takes_what_is_typed(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        assert table.slot() is Slot.ORANGE
        await table.type("And you, Jonas?")
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.slot() is Slot.ORANGE
        assert table.text(Slot.ORANGE) == "And you, Jonas?"
        assert table.area(Slot.ORANGE).has_focus


async def test_a_reply_does_not_switch_from_a_panel_that_the_gm_chose(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD")
        await table.pilot.press("alt+1")
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.slot() is Slot.RED


async def test_a_reply_does_not_take_the_focus_from_the_transcript(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD")
        table.transcript.focus()
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.transcript.has_focus
        await table.pilot.press("escape")
        assert table.area(Slot.ORANGE).has_focus


@pytest.mark.parametrize("how", ["escape", "click"])
async def test_cancelling_returns_the_text_and_uses_no_prompt_number(
    desktop: Desktop, gate: Gate, how: str
) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        if how == "escape":
            await table.pilot.press("escape")
        else:
            await table.pilot.click("#busy", offset=(table.busy.index("Esc") + 1, 0))
        await table.until(lambda: table.text(Slot.RED) == "HOLD")
        assert table.slot() is Slot.RED
        assert table.area(Slot.RED).has_focus
        assert table.transcript.text == ""
        assert "stopped" in table.banner()
        assert table.stored.prompt_index == 0
        assert table.busy == ""
        gate.open()
        await table.pilot.press("enter")
        await table.until(lambda: table.played(1))
        assert table.banner() == ""


async def test_fast_typing_after_enter_stays_behind(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.pilot.press("a", "enter", "alt+1", "b", "enter", "alt+1", "c")
        await table.until(lambda: table.played(2))
        assert [event.text for event in await table.events()] == ["a", "I see.", "b", "I see."]
        assert table.text(Slot.RED) == "c"


async def test_keys_that_arrive_together_with_enter_go_to_the_next_character(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        for key in ("a", "enter", "b", "c", "enter", "d"):
            table.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await table.until(lambda: table.played(2))
        assert [(event.slot, event.text) for event in await table.events()] == [
            (None, "a"),
            (Slot.RED, "I see."),
            (None, "bc"),
            (Slot.ORANGE, "I see."),
        ]
        assert table.text(Slot.YELLOW) == "d"


async def test_the_focus_follows_panels_that_change_before_their_events_come(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        table.composer.show(Slot.YELLOW)
        table.composer.show(Slot.ORANGE)  # As where a prompt is refused at once.
        assert table.pane.screen.focused is table.area(Slot.ORANGE)


async def test_text_typed_without_focus_goes_into_the_panel_that_shows(desktop: Desktop) -> None:
    async with at_window(desktop, prompts=1) as table:
        table.transcript.focus()
        await table.type("Look up")
        await table.until(lambda: table.text(Slot.ORANGE) == "Look up")
        assert table.area(Slot.ORANGE).has_focus
        await table.pilot.press("tab", "!")
        await table.until(lambda: table.text(Slot.ORANGE) == "Look up!")
        await table.pilot.press("tab", "3")
        assert table.slot() is Slot.YELLOW, "digits are the entries' own"


async def test_keys_are_not_lost_when_a_focused_banner_disappears(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.send("FAIL now")
        await table.until(lambda: table.banner())
        table.pane.query_one("#reply-failed Button", Button).focus()
        await table.pilot.press("enter")
        await table.until(lambda: table.played(1))
        await table.until(lambda: table.composer.has_pseudo_class("focus-within"))
        await table.type("Next")
        await table.until(lambda: table.text(table.slot()) == "Next")


async def test_redo_of_prompts_that_were_not_in_turn_shows_the_panel_of_who_is_next(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        for slot in (Slot.YELLOW, Slot.ORANGE):
            await table.session.wait(await table.session.submit_prompt(slot, f"To {slot.value}."))
        await table.pilot.press("ctrl+o", "ctrl+o")
        await table.until(lambda: table.stored.prompt_index == 1 and table.text(Slot.YELLOW))
        await table.pilot.press("alt+o")
        await table.until(lambda: table.stored.prompt_index == 2 and table.slot() is Slot.RED)
        await table.pilot.press("alt+o")
        await table.until(lambda: table.stored.prompt_index == 3 and not table.text(Slot.ORANGE))
        await table.until(lambda: table.slot() is Slot.YELLOW)
