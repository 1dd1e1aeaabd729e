"""Tab 2: re-rolling, choosing a take, undo and redo (design 12)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.widgets import Button

from core.domain.prompt_range import PromptRange
from core.domain.requests.request import ReplyRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.play.actions.take_modals import ModelOnceModal
from storyengine_tui.screens.play.takes_view import COMMANDS, TakesView
from storyengine_tui.screens.play.transcript.played_events import PlayedEvents
from storyengine_tui.screens.play.transcript.transcript_panel import TakeLine
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio

TAKES = Script(
    reply=(
        Entry(match=ScriptMatch(schema="text"), text="First.", times=1),
        Entry(match=ScriptMatch(schema="text"), text="Second.", times=1),
        Entry(match=ScriptMatch(schema="text"), text="Third.", between_tokens=0, times=1),
        Entry(match=ScriptMatch(schema="text"), text="Later."),
    )
)
SLOW_TAKE = Script(
    reply=(
        Entry(match=ScriptMatch(schema="text"), text="First.", times=1),
        Entry(match=ScriptMatch(schema="text"), text="Second is slower.", between_tokens=1, times=1),
        Entry(match=ScriptMatch(schema="text"), text="Third."),
    )
)
"""The second reply says one word and waits for the gate."""


def said(table: Table) -> str:
    """What the line about takes says; nothing where it takes no room."""
    line = table.pane.query_one(TakeLine)
    return line.content[0] if line.display else ""


def buttons(table: Table) -> list[str]:
    return [str(button.label) for button in table.pane.query_one(TakeLine).query(Button)]


async def reroll(table: Table, take: int) -> None:
    """Press F9 and wait for that take."""
    await table.pilot.press("f9")
    await table.until(lambda: said(table).startswith(f"Take {take} of {take}"))
    await table.until(lambda: not table.is_streaming)


@asynccontextmanager
async def at_two_takes(desktop: Desktop) -> AsyncIterator[Table]:
    """Sit at a table where one prompt was played twice."""
    desktop.script = TAKES
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        await reroll(table, 2)
        yield table


@asynccontextmanager
async def at_stopped_take(desktop: Desktop) -> AsyncIterator[Table]:
    """Sit at a table where another take was stopped while it came."""
    desktop.script = SLOW_TAKE
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        await table.pilot.press("f9")
        await table.until(lambda: table.transcript.text.endswith("Second"))
        await table.pilot.press("escape")
        await table.until(table.banner)
        yield table


async def test_a_chapter_without_takes_has_no_line_about_them(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        assert said(table) == ""
        assert not table.pane.query_one(TakeLine).children
        assert table.pane.query_one(TakeLine).region.height == 0


async def test_f9_adds_a_take_which_keys_and_a_button_choose_only_where_no_text_is_edited_or_marked(
    desktop: Desktop,
) -> None:
    async with at_two_takes(desktop) as table:
        # F9 adds a take which replaces the reply on screen.
        assert table.transcript.text == "1) Who is there?\n\nMira: Second."
        assert said(table) == "Take 2 of 2"
        assert buttons(table) == ["←", "→", "Re-roll (F9)", "Undo (Ctrl+O)"]
        assert [event.text for event in await table.events()] == ["Who is there?", "Second."]
        assert table.text(Slot.RED) == ""
        # No button about takes is between a panel and the transcript.
        await table.pilot.press("shift+tab")
        await table.until(lambda: table.app.focused is table.transcript)
        # Left while marking moves the cursor of the transcript.
        table.transcript.focus()
        await table.pilot.press("v", "left")
        await table.pilot.pause()
        assert said(table) == "Take 2 of 2"
        await table.pilot.press("escape", "alt+2")
        # Left moves the cursor while a panel has text.
        await table.type("ac")
        await table.pilot.press("left")
        await table.type("b")
        assert table.text(table.slot()) == "abc"
        await table.pilot.pause()
        assert said(table) == "Take 2 of 2"
        # A button chooses a take.
        await table.pilot.click(table.pane.query_one(TakeLine).query(Button).first())
        await table.until(lambda: said(table) == "Take 1 of 2")
        assert table.transcript.text.endswith("Mira: First.")


async def test_left_and_right_choose_a_take_in_an_empty_panel_and_in_the_transcript(desktop: Desktop) -> None:
    async with at_two_takes(desktop) as table:
        await reroll(table, 3)
        await table.pilot.press("left", "left")
        await table.until(lambda: said(table) == "Take 1 of 3")
        assert table.transcript.text.endswith("Mira: First.")
        await table.pilot.press("left")
        table.transcript.focus()
        await table.pilot.press("right")
        await table.until(lambda: said(table) == "Take 2 of 3")
        assert table.transcript.text.endswith("Mira: Second.")
        assert [event.text for event in await table.events()] == ["Who is there?", "Second."]


async def test_the_old_take_is_hidden_while_another_streams_and_returns_when_that_is_stopped(
    desktop: Desktop, gate: Gate
) -> None:
    desktop.script = SLOW_TAKE
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        await table.pilot.press("f9")
        await table.until(lambda: table.transcript.text == "1) Who is there?\n\nMira: Second")
        await table.pilot.press("escape")
        await table.until(table.banner)
        assert table.transcript.text == "1) Who is there?\n\nMira: First."
        assert table.text(Slot.RED) == ""
        assert said(table) == ""


async def test_a_take_that_was_stopped_is_kept_as_far_as_it_came(desktop: Desktop, gate: Gate) -> None:
    async with at_stopped_take(desktop) as table:
        table.pane.takes.action_keep_partial()
        await table.until(lambda: said(table) == "Take 2 of 2")
        assert table.transcript.text == "1) Who is there?\n\nMira: Second"


async def test_a_take_that_is_withdrawn_puts_no_text_into_a_panel(desktop: Desktop, gate: Gate) -> None:
    async with at_stopped_take(desktop) as table:
        [request] = table.snapshot.failed(ReplyRequest)
        await table.pane.sender.withdraw(request)
        await table.until(lambda: not table.banner())
        assert table.text(Slot.RED) == ""


async def test_a_take_that_failed_is_given_up_when_its_prompt_is_undone(desktop: Desktop, gate: Gate) -> None:
    async with at_stopped_take(desktop) as table:
        await table.choose("ctrl+o", ConfirmModal, "tab", "enter")
        await table.until(lambda: said(table) == "Prompt 1 is undone")
        await table.until(lambda: not table.banner())


async def test_a_take_that_fails_leaves_the_one_that_there_was_and_is_retried(desktop: Desktop) -> None:
    desktop.script = Script(
        reply=(
            Entry(match=ScriptMatch(schema="text"), text="First.", times=1),
            Entry(match=ScriptMatch(schema="text"), fault=Fault.SERVER_ERROR, times=1),
            Entry(match=ScriptMatch(schema="text"), text="Second."),
        )
    )
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        await table.pilot.press("alt+1")
        await table.type("What I write next")
        await table.pilot.press("f9")
        await table.until(table.banner)
        assert "The take that you had still counts." in table.banner()
        assert table.transcript.text == "1) Who is there?\n\nMira: First."
        assert table.text(Slot.RED) == "What I write next"
        await table.pilot.press("ctrl+r")
        await table.until(lambda: said(table) == "Take 2 of 2")
        assert table.transcript.text == "1) Who is there?\n\nMira: Second."
        assert table.text(Slot.RED) == "What I write next"


async def test_undo_returns_the_text_to_its_panel_and_redo_takes_it_from_there(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=2) as table:
        for key in ("", "alt+o"):
            await table.pilot.press("ctrl+o")
            await table.until(lambda: said(table) == "Prompt 2 is undone")
            assert "2)" not in table.transcript.text
            assert table.slot() is Slot.ORANGE
            assert table.text(Slot.ORANGE) == "Prompt number 2."
            assert buttons(table) == ["Redo (Alt+O)", "Undo (Ctrl+O)"]
            if key:
                await table.pilot.press(key)
            else:
                await table.pilot.click(table.pane.query_one(TakeLine).query(Button).first())
            await table.until(lambda: said(table) == "")
            assert "2) Prompt number 2." in table.transcript.text
            assert table.text(Slot.ORANGE) == ""
            assert table.slot() is Slot.YELLOW


async def test_undo_pressed_twice_undoes_two_prompts_and_keeps_what_was_typed(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=3) as table:
        await table.pilot.press("alt+2")
        await table.type("typed since")
        await table.pilot.press("ctrl+o", "ctrl+o")
        await table.until(lambda: said(table) == "Prompts 2–3 are undone")
        assert table.text(Slot.ORANGE) == "Prompt number 2.\n\ntyped since"
        assert table.text(Slot.YELLOW) == "Prompt number 3."
        assert table.stored.prompt_index == 1
        await table.pane.flush()
        assert table.snapshot.unsent[Slot.ORANGE] == "Prompt number 2.\n\ntyped since"


async def test_another_take_after_an_undo_asks_before_redo_is_gone(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=2) as table:
        await table.pilot.press("ctrl+o")
        await table.until(lambda: said(table) == "Prompt 2 is undone")
        await table.choose("f9", ConfirmModal, "enter")
        assert not table.snapshot.requests
        assert said(table) == "Prompt 2 is undone"
        await table.choose("f9", ConfirmModal, "tab", "enter")
        await table.until(lambda: said(table) == "Take 2 of 2")


async def test_an_undone_prompt_that_is_sent_again_is_another_take(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        await table.pilot.press("ctrl+o")
        await table.until(lambda: said(table) == "Prompt 1 is undone")
        await table.until(lambda: table.area(Slot.RED).has_focus)
        await table.send(" And then?")
        await table.until(lambda: said(table) == "Take 2 of 2")
        assert table.transcript.text.startswith("1) Prompt number 1. And then?\n\nMira: ")
        await table.pilot.press("left")
        await table.until(lambda: table.transcript.text.startswith("1) Prompt number 1.\n\nMira: "))


async def test_the_seventh_prompt_is_undone_with_its_memory(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=6) as table:
        await table.play("Prompt number 7.")
        await table.until(lambda: table.stored.boundary == 7)
        assert "-------------" in table.transcript.text
        await table.pilot.press("ctrl+o")
        await table.until(lambda: said(table) == "Prompt 7 is undone")
        assert table.stored.boundary == 0
        assert "-------------" not in table.transcript.text
        assert table.transcript.text.startswith("1) Prompt number 1.")


async def test_what_is_not_possible_is_said(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.pilot.press("ctrl+o")
        await table.until(lambda: table.app._notifications)
        [note] = list(table.app._notifications)
        assert note.message == "No prompt was played yet; send one first."


async def test_keys_do_nothing_while_a_reply_is_written(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop, prompts=1) as table:
        await table.begin()
        await table.pilot.press("f9", "ctrl+o")
        await table.until(lambda: len(table.app._notifications) == 2)
        assert all("still being written" in note.message for note in table.app._notifications)
        gate.open()
        await table.until(lambda: table.played(2))


async def test_a_stopped_reply_is_kept_as_far_as_it_came(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD")
        await table.until(lambda: table.transcript.text.endswith("Mira: I"))
        await table.pilot.press("escape")
        await table.until(table.banner)
        assert table.text(Slot.RED) == "HOLD"
        table.pane.query_one("#reply-failed", Banner).query("Button").last(Button).press()
        await table.until(lambda: table.played(1))
        assert table.transcript.text == "1) HOLD\n\nMira: I"
        await table.until(lambda: table.text(Slot.RED) == "")
        assert table.banner() == ""
        assert table.slot() is Slot.ORANGE


async def test_another_model_is_named_for_one_take(desktop: Desktop) -> None:
    async with at_window(desktop, prompts=1) as table:
        table.pane.takes.action_reroll_with()
        await table.until(lambda: isinstance(table.app.screen, ModelOnceModal))
        await table.type("other")
        await table.pilot.press("enter")
        await table.until(lambda: said(table) == "Take 2 of 2")
        asked = await table.session._store.calls.requests(table.session.id)
        models = [one.model for one in asked if isinstance(one, ReplyRequest)]
        assert sorted(models) == ["", "other"]


async def test_a_reply_is_continued(desktop: Desktop) -> None:
    desktop.script = TAKES
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        table.pane.takes.action_continue_reply()
        await table.until(lambda: said(table) == "Take 2 of 2")
        assert table.transcript.text == "1) Who is there?\n\nMira: First. Second."


async def test_a_window_that_reads_along_sees_takes_and_undo_without_buttons(desktop: Desktop) -> None:
    desktop.script = TAKES
    async with at_table(desktop) as writer:
        await writer.play("Who is there?")
        async with at_table(desktop, prompts=None, label="reader") as reader:
            await reroll(writer, 2)
            await reader.until(lambda: said(reader) == "Take 2 of 2")
            await reader.until(lambda: reader.transcript.text == "1) Who is there?\n\nMira: Second.")
            assert buttons(reader) == []
            await writer.pilot.press("ctrl+o")
            await reader.until(lambda: said(reader) == "Prompt 1 is undone")
            await reader.until(lambda: reader.transcript.text == "")
            await reader.until(lambda: reader.text(Slot.RED) == "Who is there?")


async def test_a_chapter_that_has_ended_counts_its_takes_and_offers_nothing_that_changes_them(
    desktop: Desktop,
) -> None:
    desktop.script = TAKES
    async with at_window(desktop) as table:
        await table.play("Who is there?")
        await reroll(table, 2)
        assert "Let characters add something" in names(table)
        await table.session.end_chapter()
        await table.until(lambda: table.state() is SessionState.ENDED)
        await table.pilot.press("f3")
        await table.until(lambda: buttons(table) == [])
        assert said(table) == "Take 2 of 2"
        assert not {"Re-roll", "Undo the newest prompt", "Let characters add something"} & names(table)


async def test_takes_and_what_was_undone_are_told_whole_in_80_columns(desktop: Desktop) -> None:
    desktop.script = TAKES
    async with at_table(desktop, size=(80, 24)) as table:
        await table.play("Who is there?")
        await reroll(table, 2)
        # As in a chapter of more than a thousand prompts.
        takes = TakesView(take=2, count=2, undone=PromptRange(1240, 1249), possible=frozenset(COMMANDS))
        line = table.pane.query_one(TakeLine)
        line.view = replace(table.pane.current_view(), takes=takes)
        await table.until(lambda: said(table) == "Take 2 of 2 · 1,240–1,249 undone")
        [shown] = line.query(".takes--line")
        await table.until(lambda: shown.size.width >= len(said(table)))


def names(table: Table) -> set[str]:
    """The commands that the palette has."""
    assert isinstance(table.app, StoryEngineApp)
    return {command.title for command in commands_of(table.app, lambda: None)}


async def test_the_palette_has_what_is_possible(desktop: Desktop) -> None:
    always = {"Branch", "Re-roll", "Undo the newest prompt", "Correct the reply"}
    async with at_window(desktop) as table:
        assert not (always | {"Redo the prompt"}) & names(table)
        await table.play("Who is there?")
        assert always <= names(table)
        assert not {"Redo the prompt", "Keep the stopped reply"} & names(table)
        await table.type("later")
        assert {"Move the text to 1 Mira", "Move the text to 3 Agent Yellow"} <= names(table)
        await table.pilot.press("ctrl+o")
        await table.until(lambda: said(table))
        assert {"Redo the prompt"} <= names(table)
        assert "Branch" not in names(table)


async def test_what_is_known_replaces_canon_and_what_is_not_is_read_again(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=3) as table:
        snapshot = table.snapshot
        played = PlayedEvents()
        played.load(await table.events(), table.session.id)
        assert played.replace(3, snapshot)
        two = replace(snapshot, recent=tuple(one for one in snapshot.recent if one.prompt_index == 2))
        assert played.replace(2, replace(two, session=replace(two.session, prompt_index=2)))
        assert [piece.text[:2] for piece in played.window(table.stored).pieces] == ["1)", "Mi", "2)", "Jo"]
        assert not played.replace(1, two), "the snapshot begins later"
        played.load([one for one in await table.events() if one.prompt_index > 1], table.session.id)
        assert not played.replace(3, snapshot), "what is kept may not fill the window"
