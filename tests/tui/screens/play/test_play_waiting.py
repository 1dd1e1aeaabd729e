"""Tab 2: queued, failed and returned prompts; no text of the GM is lost."""

import pytest
from textual.widgets import Button

from core.domain.errors import ErrorCode, StorageError
from core.domain.requests.request import RequestRecord, RequestState
from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.play.composer.prompt_queue import PromptQueue
from storyengine_tui.screens.shared.autosave import MAX_DELAY_SECONDS
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.panel_switcher import SlotEntries
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Gate, Table, at_table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio

CUT = Script(
    reply=(Entry(match=ScriptMatch(schema="text"), text="I am cut off.", fault=Fault.CUT, between_tokens=1),)
)
"""Every reply breaks off, as soon as the gate opens."""


async def press_button(table: Table, banner: str, label: str) -> None:
    """Click a banner's button."""
    buttons = table.pane.query_one(f"#{banner}", Banner).query(Button)
    [button] = [button for button in buttons if str(button.label).startswith(label)]
    await table.pilot.click(button)


# The queue


async def test_a_prompt_that_is_sent_meanwhile_waits_in_sight_and_goes_by_itself(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        await table.queue("And you?")
        assert table.queued == ["To 2 Jonas [/x], waits its turn: And you?"]
        assert table.slot() is Slot.YELLOW
        assert table.transcript.text.endswith("Mira: I")
        gate.open()
        await table.until(lambda: table.played(2))
        assert table.queued == []
        assert not table.pane.query_one(PromptQueue).display
        assert table.transcript.text.endswith("2) And you?\n\nJonas [/x]: I see.")


async def test_the_key_takes_the_newest_back_and_the_button_any(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        await table.send("first")
        await table.send("second")
        await table.until(lambda: len(table.queued) == 2)
        await table.pilot.press("ctrl+t")
        await table.until(lambda: len(table.queued) == 1)
        assert table.text(Slot.YELLOW) == "second"
        assert table.slot() is Slot.YELLOW
        await table.pilot.click(table.pane.query_one(PromptQueue).query(Button).first())
        await table.until(lambda: not table.queued)
        assert table.text(Slot.ORANGE) == "first"
        assert table.slot() is Slot.YELLOW, "what is typed in stays in front"
        gate.open()
        await table.until(lambda: table.played(1))
        assert (await table.events())[0].text == "HOLD"
        assert table.stored.prompt_index == 1


async def test_a_key_that_comes_twice_takes_two_prompts_back(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        await table.send("first")
        await table.send("second")
        await table.until(lambda: len(table.queued) == 2)
        table.pane.requests.action_take_back()
        table.pane.requests.action_take_back()
        await table.until(lambda: not table.queued)
        assert (table.text(Slot.ORANGE), table.text(Slot.YELLOW)) == ("first", "second")
        assert not table.trouble()
        gate.open()


async def test_a_prompt_that_is_taken_back_joins_text_typed_since(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        await table.queue("first")
        await table.pilot.press("alt+2")
        await table.type("more")
        await table.pilot.press("ctrl+t")
        await table.until(lambda: not table.queued)
        assert table.text(Slot.ORANGE) == "first\n\nmore"
        await table.type("!")
        assert table.text(Slot.ORANGE) == "first\n\nmore!", "the cursor stays"


# Failures


async def test_a_failure_says_what_happened_and_the_key_tries_again(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        await table.send("FAIL")
        await table.until(table.banner)
        assert "2 Jonas [/x] did not answer." in table.banner()
        assert "nothing is lost" in table.banner()
        assert "Your text is back in the panel of 2 Jonas [/x]." in table.banner()
        assert table.slot() is Slot.ORANGE
        assert table.text(Slot.ORANGE) == "FAIL"
        assert table.area(Slot.ORANGE).has_focus
        assert table.stored.prompt_index == 1
        assert "FAIL" not in table.transcript.text
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.played(2))
        assert table.banner() == ""
        assert table.text(Slot.ORANGE) == ""
        assert table.slot() is Slot.YELLOW
        stored = map(RequestRecord.of, await table.session._store.calls.requests(table.session.id))
        [request] = [one for one in stored if one.text == "FAIL"]
        assert (request.state, request.attempts) == (RequestState.DONE, 2)


async def test_the_button_tries_again_as_well(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.send("FAIL")
        await table.until(table.banner)
        await press_button(table, "reply-failed", "Retry")
        await table.until(lambda: table.played(1))
        assert table.text(Slot.RED) == ""


async def test_edit_leads_to_the_text_and_enter_sends_it_as_it_is_then(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.send("FAIL")
        await table.until(table.banner)
        await table.pilot.press("alt+2")
        await press_button(table, "reply-failed", "Edit")
        assert table.area(Slot.RED).has_focus
        assert table.banner() == ""
        await table.pilot.press("backspace")
        await table.send("TH")
        await table.until(lambda: table.played(1))
        assert [event.text for event in await table.events()] == ["FAITH", "I see."]
        assert not table.snapshot.requests


async def test_retry_sends_an_edited_text_as_it_stands(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.send("FAIL")
        await table.until(table.banner)
        await table.type("ED")
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.played(1))
        assert (await table.events())[0].text == "FAILED"
        assert table.text(Slot.RED) == ""


async def test_a_failure_removes_no_text_from_another_panel(desktop: Desktop, gate: Gate) -> None:
    desktop.script = Script(
        reply=(
            Entry(
                match=ScriptMatch(schema="text"), text="I am cut off here.", fault=Fault.CUT, between_tokens=1
            ),
        )
    )
    async with at_table(desktop) as table:
        await table.begin("Mira?")
        await table.type("Jonas?")
        gate.open()
        await table.until(table.banner)
        assert table.slot() is Slot.ORANGE
        assert table.text(Slot.ORANGE) == "Jonas?"
        assert table.text(Slot.RED) == "Mira?"
        assert table.transcript.text == ""


async def test_a_failure_joins_what_was_typed_in_the_same_panel(desktop: Desktop, gate: Gate) -> None:
    desktop.script = CUT
    async with at_table(desktop) as table:
        await table.send("Mira?")
        await table.pilot.press("alt+1")
        await table.type("And then?")
        gate.open()
        await table.until(table.banner)
        assert table.text(Slot.RED) == "Mira?\n\nAnd then?"
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.snapshot.requests[0].attempts == 2 and table.banner())
        assert table.text(Slot.RED) == "Mira?\n\nAnd then?", "it failed again"
        await table.pane.flush()
        assert table.snapshot.unsent == {Slot.RED: "Mira?\n\nAnd then?"}


async def test_prompts_wait_behind_one_that_failed(desktop: Desktop, gate: Gate) -> None:
    desktop.script = Script(
        reply=(
            Entry(
                match=ScriptMatch(last="Mira?"), text="I am cut.", fault=Fault.CUT, between_tokens=1, times=1
            ),
            Entry(match=ScriptMatch(schema="text"), text="I see."),
        )
    )
    async with at_table(desktop) as table:
        await table.begin("Mira?")
        await table.send("Jonas?")
        gate.open()
        await table.until(table.banner)
        assert table.queued == ["To 2 Jonas [/x], waits behind the prompt that failed: Jonas?"]
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.played(2))
        texts = [event.text for event in await table.events()]
        assert texts == ["Mira?", "I see.", "Jonas?", "I see."]


async def test_what_cannot_be_stored_is_back_in_its_panel(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_table(desktop) as table:

        async def refuse(*_: object) -> None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

        with monkeypatch.context() as broken:
            broken.setattr(table.session._store, "commit", refuse)
            await table.send("Hello")
            await table.until(table.trouble)
            assert table.text(Slot.RED) == "Hello"
            assert table.slot() is Slot.RED
        await table.pilot.press("enter")
        await table.until(lambda: table.played(1))
        assert [event.text for event in await table.events()] == ["Hello", "I see."]
        assert table.text(Slot.RED) == ""


async def test_too_long_a_text_is_refused_whole(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        most = table.stored.limits.prompt
        area = table.area(Slot.RED)
        area.insert("x" * (most - 1))
        await table.type("abc")
        assert area.length == most
        assert "2" in str(area.border_subtitle) or "1" in str(area.border_subtitle)
        area.put_back("y" * 10)
        await table.pilot.press("enter")
        await table.until(table.trouble)
        assert f"{most:,} fit" in table.trouble()
        assert area.text == "y" * 10 + "\n\n" + "x" * (most - 1) + "a"


# What is typed


async def test_every_panel_is_stored_within_a_second_and_shown_after_a_restart(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.type("to Mira")
        await table.pilot.press("ctrl+n")
        await table.type("to\nJonas")
        await table.until(lambda: len(table.snapshot.unsent) == 2 and table.area(Slot.ORANGE).is_stored)
        assert MAX_DELAY_SECONDS < 1, "what is typed is stored within a second, however long one types"
    async with at_table(desktop, prompts=None) as table:
        assert table.text(Slot.RED) == "to Mira"
        assert table.text(Slot.ORANGE) == "to\nJonas"
        assert table.area(Slot.ORANGE).cursor_location == (1, 5)
        row = [entry.mark for entry in table.composer.query_one(SlotEntries).entries]
        assert row == ["✎", "✎", ""]


async def test_flush_stores_at_once_also_what_is_on_its_way(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.type("half a tho")
        await table.pane.flush()
        assert table.snapshot.unsent == {Slot.RED: "half a tho"}
        table.area(Slot.RED).action_submit()
        await table.pane.flush()
        assert table.snapshot.unsent == {}
        assert table.snapshot.requests or table.stored.prompt_index == 1


async def test_a_prompt_that_was_interrupted_waits_in_its_panel_after_a_restart(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        await table.queue("Jonas?")
    async with at_table(desktop, prompts=None) as table:
        assert table.slot() is Slot.RED
        assert (table.text(Slot.RED), table.text(Slot.ORANGE)) == ("HOLD", "Jonas?")
        assert "was stopped" in table.banner()
        gate.open()
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.played(1))
        assert table.text(Slot.ORANGE) == "Jonas?"


async def test_unsaved_text_survives_a_takeover_by_another_window(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storyengine_tui.screens.shared.autosave.DEBOUNCE_SECONDS", 3600)
    monkeypatch.setattr("storyengine_tui.screens.shared.autosave.MAX_DELAY_SECONDS", 3600)
    async with at_table(desktop) as table:
        await table.type("mine")
        area = table.area(Slot.RED)
        assert not area.is_stored
        area.follow("theirs")
        assert area.text == "mine"
        area.show_stored("theirs")
        assert area.text == "theirs\n\nmine"
