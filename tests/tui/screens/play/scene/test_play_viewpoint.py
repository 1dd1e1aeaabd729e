"""Tab 2: the transcript as one character sees it, and what a character is given next (design 13)."""

import pytest
from textual.widgets import Button

from core.agents.role.prompt_file import SEGMENTS
from core.domain.audience import NOBODY
from core.domain.slot import Slot
from core.domain.story.transcript import PieceKind
from core.engine.sync.notifications import CanonChanged
from storyengine_tui.screens.calls.inputs.call_rows import segments_of
from storyengine_tui.screens.calls.inputs.next_input_screen import NextInputScreen
from storyengine_tui.screens.play.scene.viewpoint_line import ViewpointLine
from storyengine_tui.screens.play.transcript.played_events import PlayedEvents
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.tui.engine_app import Desktop, filled, screen_text, until
from tests.tui.rooms.chapter_page import SCRIPT, make_ended
from tests.tui.rooms.play_table import Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio

RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
WHISPER = "⟨Mira⟩ 1) Psst\n\n⟨Mira⟩ Mira: I see."
COMMON = "2) Hello\n\nJonas [/x]: I see."


async def played(table: Table) -> None:
    """Whisper to Mira, then say something to Jonas that everyone hears."""
    await table.session.wait(await table.session.submit_prompt(RED, "Psst", heard_by=NOBODY))
    await table.session.wait(await table.session.submit_prompt(ORANGE, "Hello"))
    await table.until(lambda: table.transcript.text == f"{WHISPER}\n\n{COMMON}")


def whose(table: Table) -> str:
    """Whose view the title of the transcript says that it is; nothing where it takes no room."""
    line = table.pane.query_one(ViewpointLine)
    return line.content[0] if line.display else ""


async def see_as_next(table: Table) -> None:
    """Press F12 once."""
    before = whose(table)
    await table.pilot.press("f12")
    await table.until(lambda: whose(table) != before)


async def see_as(table: Table, slot: Slot) -> None:
    """Press F12 until the transcript shows the view of that character."""
    for _ in range(slot):
        await see_as_next(table)
    assert whose(table).startswith(f"{int(slot)} ")


async def test_f12_goes_through_the_characters_and_esc_or_a_button_back_to_everything(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        # F12 goes through the characters and back to everything.
        await played(table)
        seen = []
        for _ in range(4):
            before = whose(table)
            await table.pilot.press("f12")
            await table.until(lambda before=before: whose(table) != before)
            seen.append((whose(table), table.transcript.text))
        everything = f"{WHISPER}\n\n{COMMON}"
        assert seen == [
            ("1 Mira", everything),
            ("2 Jonas [/x]", COMMON),
            ("3 Agent Yellow", COMMON),
            ("", everything),
        ]
        assert not table.pane.query_one(ViewpointLine).children
        # A key that comes while the story is read goes on from there; a reading after a change keeps to it.
        table.pane.scene.action_view_as()
        table.pane.scene.action_view_as()
        table.pane.on_notification(CanonChanged(1))
        await table.until(lambda: whose(table) == "2 Jonas [/x]")
        await table.pilot.press("escape")
        await table.until(lambda: whose(table) == "")
        # A view follows undo and redo.
        await see_as(table, ORANGE)
        await table.session.takes.undo()
        await table.until(lambda: table.transcript.text == "")
        await table.session.takes.redo()
        await table.until(lambda: table.transcript.text == COMMON)
        assert whose(table) == "2 Jonas [/x]"
        await table.pilot.press("escape")
        await table.until(lambda: whose(table) == "")
        # Esc and a button show everything again and the panel stays usable.
        await see_as(table, ORANGE)
        await table.type("still here")
        assert table.text(table.slot()) == "still here"
        await table.pilot.press("escape")
        await table.until(lambda: whose(table) == "")
        assert table.transcript.text == f"{WHISPER}\n\n{COMMON}"
        await see_as(table, YELLOW)
        button = table.pane.query_one(ViewpointLine).query_one(Button)
        assert str(button.label) == "Everything (Esc)"
        await table.pilot.click(button)
        await table.until(lambda: whose(table) == "")


async def test_a_view_follows_what_that_character_hears_and_nothing_else(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await played(table)
        await see_as(table, ORANGE)
        await table.session.wait(await table.session.submit_prompt(YELLOW, "For you", heard_by=NOBODY))
        await table.session.scene.narrate("Jonas hears a bell.", hearers={ORANGE})
        await table.until(lambda: "bell" in table.transcript.text)
        await table.play("And all?")
        assert table.transcript.text == (
            f"{COMMON}\n\n⟨Jonas [/x]⟩ Jonas hears a bell.\n\n4) And all?\n\nMira: I see."
        )


async def test_a_view_has_no_takes_of_a_whisper_that_this_character_did_not_hear(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Hello")
        await table.session.wait(await table.session.submit_prompt(RED, "Psst", heard_by=NOBODY))
        await table.session.wait(await table.session.takes.reroll())
        await table.session.scene.narrate("A bell rings.")
        await table.until(lambda: "Take 2 of 2" in screen_text(table.app))
        await see_as(table, RED)
        await table.until(lambda: "Take 2 of 2" in screen_text(table.app))
        await see_as_next(table)
        await table.until(lambda: "Take 2 of 2" not in screen_text(table.app))
        assert "bell" in table.transcript.text
        await table.pilot.press("escape")
        await table.until(lambda: "Take 2 of 2" in screen_text(table.app))


async def test_a_whisper_does_not_stream_into_the_view_of_another(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await see_as(table, ORANGE)
        held = await table.session.submit_prompt(RED, "HOLD on", heard_by=NOBODY)
        await table.until(lambda: table.busy)
        for _ in range(3):
            await table.pilot.pause()
        assert table.transcript.text == ""
        await table.pilot.press("f12", "f12")
        await table.until(lambda: whose(table) == "")
        await table.until(lambda: table.transcript.text == "⟨Mira⟩ 1) HOLD on\n\n⟨Mira⟩ Mira: I")
        gate.open()
        await table.session.wait(held)
        await table.until(lambda: table.transcript.text.endswith("Then I let go."))


async def test_a_reply_goes_on_streaming_when_the_view_changes(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD on")
        await table.until(lambda: table.transcript.text == "1) HOLD on\n\nMira: I")
        await see_as(table, YELLOW)
        assert table.transcript.text == "1) HOLD on\n\nMira: I"
        button = table.pane.query_one(ViewpointLine).query_one(Button)
        assert str(button.label) == "Everything", "Esc cancels the reply now"
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.transcript.text == "1) HOLD on\n\nMira: I hold on. Then I let go."


async def test_a_window_that_reads_along_has_the_views_and_none_of_the_changes(desktop: Desktop) -> None:
    async with at_table(desktop) as writer:
        await played(writer)
        async with at_table(desktop, prompts=None, label="reader") as reader:
            await see_as(reader, ORANGE)
            assert reader.transcript.text == COMMON
            for action in ("choose_hearers", "add_line", "roll_dice", "reveal"):
                assert not reader.pane.check_action(action, ())


async def test_another_chapter_begins_with_everything(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        await played(table)
        await see_as(table, ORANGE)
        app = table.app
        assert isinstance(app, StoryEngineApp)
        app.action_new_chapter()
        await table.until(lambda: app.chapter.active_tab == "setup")
        await filled(table.pilot, "play")
        assert table.stored.prompt_index == 0
        await table.until(lambda: whose(table) == "")


async def test_a_story_of_which_a_character_missed_the_beginning_is_not_called_truncated(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        await played(table)
        view = PlayedEvents()
        view.load_view(await table.session.newest_canon(known_to=ORANGE), table.stored, ORANGE)
        assert view.window(table.stored).pieces[0].kind is not PieceKind.NOTICE
        assert view.next_index == 3


async def test_the_exact_next_input_is_shown_with_what_was_heard_and_the_text_of_the_panel(
    desktop: Desktop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[str] = []
    async with at_window(desktop) as table:
        # What Mira is given has what was whispered to her.
        await played(table)
        await table.pilot.press("alt+1")
        await table.pane.run_action("next_input")
        await table.until(lambda: isinstance(table.app.screen, NextInputScreen))
        view = table.app.screen.query_one(PassageView)
        await table.until(lambda: view.lines.paragraphs)
        assert "Psst" in view.lines.text
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, NextInputScreen))
        # The exact next input is shown with the text of the panel.
        await table.pilot.press("alt+2")
        await table.type("What now, Jonas?")
        await table.pane.run_action("next_input")
        await table.until(lambda: isinstance(table.app.screen, NextInputScreen))
        view = table.app.screen.query_one(PassageView)
        await table.until(lambda: view.lines.paragraphs)
        shown = view.lines.text
        assert "What now, Jonas?" in shown
        assert "Hello" in shown
        assert "Psst" not in shown, "he has not heard it"
        assert "--with-system-prompt" in shown
        monkeypatch.setattr(table.app, "copy_to_clipboard", copied.append)
        await table.pilot.press("y", "escape")
        await table.until(lambda: not isinstance(table.app.screen, NextInputScreen))
        assert copied == [shown]
        assert table.text(ORANGE) == "What now, Jonas?"
        await table.pilot.press("enter")
        await table.until(lambda: table.played(3))
        calls = await table.session.reads.artifacts()
        manifest = dict(await table.session.reads.contents([calls[-1].input_ref or ""]))
        parts = segments_of("".join(manifest.values()))
        sent = dict(await table.session.reads.contents([part.hash for part in parts]))
        told = [sent[part.hash] for part in parts if part.name not in SEGMENTS]
        assert told
        assert all(text in shown for text in told), "what was sent then is what was shown"


async def test_what_is_given_next_is_not_offered_in_a_chapter_that_has_ended(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_ended) as (pilot, app):

        def titles() -> list[str]:
            return [one.title for one in commands_of(app, lambda: None)]

        await until(pilot, lambda: "As the next character sees it" in titles())
        assert "What is given next" not in titles()
        assert "End Chapter" not in titles()
