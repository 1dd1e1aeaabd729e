"""Tab 2: summaries, the end of the chapter, and a window that only reads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.widgets import Button, Static

from core.config.models.accounts import Account
from core.domain.errors import ErrorCode
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.session.session_reader import SessionReader
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from storyengine_tui.screens.models.permission.consent_modal import ConsentModal
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.key_line import KeyLine
from tests.core.values.sessions import waiting
from tests.tui.engine_app import Desktop, filled, make_draft, screen_text
from tests.tui.rooms.one_page import took_long
from tests.tui.rooms.play_table import Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio
LINE = "\n\n-------------"
SAY = Entry(match=ScriptMatch(schema="text"), text="I see.")


def summaries(**values: object) -> Script:
    """Return a script whose summaries are as `values` say."""
    return Script(reply=(Entry(match=ScriptMatch(schema="turn_delta"), **values), SAY))


# Summaries


async def test_a_summary_runs_quietly_and_then_the_dashed_line_is_there(
    desktop: Desktop, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionReader, "last_duration", took_long)
    desktop.script = summaries(first_token=1)
    async with at_table(desktop, prompts=6) as table:
        assert LINE not in table.transcript.text
        await table.send("The seventh")
        await table.until(lambda: table.state() is SessionState.SUMMARIZING)
        await table.until(lambda: table.busy.startswith("Summarising prompts 1–7 · 0:0"))
        await table.until(lambda: "(1:40 last time)" in table.busy)
        assert table.transcript.text.endswith("7) The seventh\n\nMira: I see.")
        length = len(table.transcript.text)
        await table.queue("The eighth")
        assert table.queued == ["To 2 Jonas [/x], waits for the summary: The eighth"]
        gate.open()
        await table.until(lambda: table.played(8))
        assert f"Mira: I see.{LINE}\n\n8) The eighth" in table.transcript.text
        assert table.counter == f"{length + len(LINE) + len(table.transcript.text.split(LINE)[1])}/60,000"
        assert table.banner("summary-failed") == ""


async def test_a_failed_summary_counts_down_and_can_be_tried_at_once(desktop: Desktop) -> None:
    desktop.script = summaries(fault=Fault.SERVER_ERROR, times=1)
    async with at_table(desktop, prompts=6) as table:
        await table.send("The seventh")
        await table.until(lambda: table.banner("summary-failed"))
        assert "The summary of prompts 1–7 was not made." in table.banner("summary-failed")
        assert "You can play on" in table.banner("summary-failed")
        banner = table.pane.query_one("#summary-failed", Banner)
        assert "Tries again by itself in 0:0" in str(banner.query_one(".banner--countdown", Static).render())
        assert LINE not in table.transcript.text
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.transcript.text.endswith(LINE))
        assert table.banner("summary-failed") == ""


async def test_a_failed_summary_is_tried_again_by_itself(desktop: Desktop) -> None:
    desktop.script = summaries(fault=Fault.SERVER_ERROR, times=1)
    async with at_table(desktop, prompts=6) as table:
        table.session._worker.backoffs = waiting(0.01).backoffs
        await table.send("The seventh")
        await table.until(lambda: table.transcript.text.endswith(LINE))
        assert table.banner("summary-failed") == ""


# The end


async def end(table: Table) -> None:
    """Press End Chapter and confirm."""
    await table.pilot.press("f8")
    await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
    await table.pilot.click("#confirm")


async def test_the_end_asks_says_what_it_does_and_opens_tab_3(desktop: Desktop) -> None:
    async with at_window(desktop, prompts=2) as table:
        await table.type("unsent")
        await table.pilot.click(table.end_button)
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        asked = "\n".join(str(widget.render()) for widget in table.app.screen.query(Static))
        assert "2 prompts to summarise into memory first (prompts 1–2, 1 summary)" in asked
        assert "Text that is not sent yet stays where it is: 3 Agent Yellow." in asked
        await table.pilot.press("escape")
        assert table.state() is SessionState.ACTIVE
        await end(table)
        chapter = table.app.screen_stack[0]
        assert isinstance(chapter, ChapterScreen)
        await table.until(lambda: chapter.active_tab == "narrative")
        assert table.state() is SessionState.ENDED
        assert table.transcript.text.endswith(LINE)
        assert table.area(Slot.YELLOW).read_only
        assert table.text(Slot.YELLOW) == "unsent"
        assert table.end_button.disabled
        await table.pilot.pause()
        assert chapter.active_tab == "narrative"


async def test_what_the_end_waits_for_is_said_in_80_columns(desktop: Desktop, gate: Gate) -> None:
    desktop.script = summaries(first_token=1)
    async with at_table(desktop, prompts=6, size=(80, 24)) as table:
        await table.session.end_chapter()
        await table.until(lambda: "Ending; summary of 1–6 · 0:0" in screen_text(table.app))
        gate.open()
        await table.until(lambda: table.state() is SessionState.ENDED)


async def test_the_end_waits_for_the_reply(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.begin()
        assert table.end_button.disabled
        await table.pilot.press("f8")
        assert not isinstance(table.app.screen, ConfirmModal)
        gate.open()
        await table.until(lambda: not table.end_button.disabled)


async def test_an_end_that_fails_can_be_tried_again_or_taken_back(desktop: Desktop) -> None:
    desktop.script = summaries(fault=Fault.SERVER_ERROR, times=1)
    async with at_table(desktop, prompts=1) as table:
        await end(table)
        await table.until(lambda: table.banner("summary-failed"))
        assert "Retry ends the chapter" in table.banner("summary-failed")
        assert not table.area(Slot.ORANGE).read_only
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.state() is SessionState.ENDED)
        assert table.banner("summary-failed") == ""


# Reading along


@asynccontextmanager
async def other_window(desktop: Desktop) -> AsyncIterator[SessionHandle]:
    """Another window, which is the writer of the only session."""
    async with desktop.engine("the other window") as engine:
        [summary] = await engine.sessions()
        session = await engine.open(summary.id)
        try:
            yield session
        finally:
            await session.aclose()


async def test_a_second_window_reads_along_and_goes_on_when_it_is_the_writer(desktop: Desktop) -> None:
    desktop.script = Script(reply=(SAY,))
    async with at_table(desktop, prompts=1) as first:
        session_id = first.session.id
    async with other_window(desktop) as writer, at_table(desktop, prompts=None) as table:
        assert table.session.id == session_id
        assert table.session.is_read_only
        area = table.area(Slot.ORANGE)
        assert area.read_only
        assert table.session.holder is not None
        assert "Read-only here while another window writes" in str(area.placeholder)
        assert table.end_button.disabled
        assert not any(
            table.pane.check_action(action, ()) for action in ("cancel", "retry", "take_back", "end_chapter")
        )
        await writer.edits.save_unsent(Slot.ORANGE, "typed there")
        await table.until(lambda: table.text(Slot.ORANGE) == "typed there")
        await writer.submit_prompt(Slot.ORANGE, "typed there")
        await table.until(lambda: table.transcript.text.endswith("2) typed there\n\nJonas [/x]: I see."))
        await table.until(lambda: table.slot() is Slot.YELLOW and table.text(Slot.ORANGE) == "")
        await table.send("not mine to send")
        assert table.text(Slot.YELLOW) == ""
        await writer.aclose()
        assert await table.session.take_over()
        await table.until(lambda: not table.area(Slot.YELLOW).read_only)
        await table.until(lambda: table.area(Slot.YELLOW).has_focus)
        await table.play("Mine now")
        assert table.session.can(Command.END_CHAPTER)


async def test_a_read_only_window_shows_who_is_answering_and_the_reply(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop, prompts=1):
        pass
    async with other_window(desktop) as writer, at_table(desktop, prompts=None) as table:
        asked = await writer.submit_prompt(Slot.ORANGE, "HOLD the line")
        await table.until(lambda: table.busy.startswith("Jonas [/x] is writing"))
        assert "Esc" not in table.busy
        assert "2) HOLD the line" in table.transcript.text
        await writer.cancel(asked)
        await table.until(lambda: "HOLD" not in table.transcript.text)
        assert table.busy == ""


async def test_before_the_lock_tab_2_says_what_to_do(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with at_table(desktop, prompts=None) as table:
        note = table.pane.query_one("#play-note", Static)
        assert note.display
        assert "1 World (F2)" in str(note.render())
        assert not table.composer.display
        await table.session.lock()
        await table.until(lambda: table.composer.display and not note.display)
        await table.until(lambda: table.composer.shown is not None)
        await table.play("It begins")


async def test_without_consent_the_dialog_asks_and_the_prompt_goes_then(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = Entry(match=ScriptMatch(schema="text"), fault=Fault.SERVER_ERROR, times=1)
    desktop.script = Script(reply=(refused, SAY))
    monkeypatch.setattr(
        "storyengine_tui.screens.models.model_labels.without_consent",
        lambda _: [Account(provider="openai", base_url="https://far.example/v1", keyring_name="local")],
    )
    monkeypatch.setitem(
        __import__("core.providers.scripted.provider", fromlist=["_ERRORS"])._ERRORS,
        Fault.SERVER_ERROR,
        ErrorCode.CONSENT_REQUIRED,
    )
    async with at_window(desktop) as table:
        await table.send("Hello")
        await table.until(lambda: isinstance(table.app.screen, ConsentModal))
        assert table.text(Slot.RED) == "Hello"
        assert "consent" in table.banner()
        await table.pilot.click(table.app.screen.query_one("#confirm", Button))
        await table.until(lambda: table.played(1))
        assert table.text(Slot.RED) == ""
        assert table.banner() == ""


async def test_an_ended_chapter_says_so_where_it_was_played(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        await table.type("Left over")
        await table.session.end_chapter()
        await table.until(lambda: table.state() is SessionState.ENDED)
        note = table.pane.query_one("#play-keys", Static)
        await table.until(lambda: "has ended. Go on with 3 Chapter (F4)" in str(note.content))
        assert not table.end_button.display
        await table.type("more")
        assert table.text(Slot.ORANGE) == "Left over"


# Keys that do nothing now


def notes(table: Table) -> list[str]:
    return [note.message for note in table.app._notifications]


async def test_the_key_that_ends_the_chapter_says_why_it_does_not_while_a_reply_streams(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD")
        await table.until(lambda: table.is_streaming and table.area(Slot.ORANGE).has_focus)
        await table.pilot.press("f8")
        said = "A reply is still being written; wait until it is done, or cancel it, then end the chapter."
        await table.until(lambda: notes(table) == [said])
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.state() is SessionState.ACTIVE


async def test_the_dimmed_keys_of_tab_3_say_why_they_do_nothing_when_they_are_pressed_or_clicked(
    desktop: Desktop,
) -> None:
    async with at_window(desktop) as table:
        await table.pilot.press("f4")
        await table.pilot.press("f8", "f9")
        await table.until(lambda: len(notes(table)) == 2)
        assert "is being played" in notes(table)[0] or "2 Play" in notes(table)[0]
        said = "There is no chapter to download yet: build it first (F8)."
        assert notes(table)[1] == said
        line = table.app.screen_stack[0].query_one(KeyLine)
        await table.until(lambda: "F9 Download" in str(line.render()))
        await table.pilot.click(line, offset=(str(line.render()).index("F9 Download"), 0))
        await table.until(lambda: notes(table)[2:] == [said])


async def test_the_end_of_the_chapter_puts_the_focus_where_the_gm_says_how_to_write_it(
    desktop: Desktop,
) -> None:
    async with at_window(desktop, prompts=1) as table:
        await table.pilot.press("f8")
        await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
        await table.pilot.click("#confirm")
        await filled(table.pilot, "narrative")
        page = table.app.screen_stack[0].query_one(NarrativePane)
        await table.until(lambda: page.query_one(DefinitionCell).area.has_focus)
