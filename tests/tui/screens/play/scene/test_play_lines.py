"""Tab 2: lines of the GM that call nobody: narration, dice, secrets that are revealed (design 13)."""

import asyncio
from dataclasses import replace

import pytest
from textual import events
from textual.widgets import Button, Static

from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.domain.story.secret import Secret
from core.domain.story.transcript import PieceKind
from storyengine_tui.screens.play.actions.scene_actions import last_dice
from storyengine_tui.screens.play.actions.take_modals import ReplyModal
from storyengine_tui.screens.play.scene.line_modals import (
    AddedLineModal,
    DiceModal,
    NarrationModal,
    RevealModal,
    SceneModal,
)
from storyengine_tui.screens.play.scene.slot_modals import HearersModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio

RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW


async def lines(table: Table) -> list[Event]:
    return [event for event in await table.events() if event.role is Role.SYSTEM]


async def dialog(table: Table, kind: type[AddedLineModal], action: str) -> AddedLineModal:
    """Open a dialog and wait until something in it has the focus."""
    await table.pane.run_action(action)
    await table.until(lambda: isinstance(table.app.screen, kind) and table.app.screen.focused)
    assert isinstance(table.app.screen, kind)
    return table.app.screen


async def store(table: Table, open_dialog: AddedLineModal) -> None:
    open_dialog.query_one("#store", Button).press()
    await table.until(lambda: not isinstance(table.app.screen, AddedLineModal))


def refusal(open_dialog: AddedLineModal) -> str:
    said = open_dialog.query_one("#refused", Static)
    return str(said.render()) if said.display else ""


async def test_a_line_that_calls_nobody_stands_in_the_story_without_a_number(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        opened = await dialog(table, NarrationModal, "add_line")
        await table.type("The lamp goes out.")
        await store(table, opened)
        await table.until(lambda: table.transcript.text == "The lamp goes out.")
        [line] = await lines(table)
        assert line.audience.is_everyone
        assert [one.kind for one in table.transcript.lines.paragraphs] == [PieceKind.SYSTEM]
        await table.play("Who is there?")
        assert table.transcript.text == "The lamp goes out.\n\n1) Who is there?\n\nMira: I see."


async def test_an_opening_line_is_not_taken_for_the_rest_of_a_longer_story(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=2) as table:
        await table.session.scene.narrate("It rains.")
        await table.pilot.press("ctrl+o", "ctrl+o")
        await table.until(lambda: table.stored.prompt_index == 0)
        await table.session.scene.narrate("It begins again.")
        await table.until(lambda: table.transcript.text == "It begins again.")
    async with at_table(desktop, prompts=None) as table:
        await table.until(lambda: table.transcript.text == "It begins again.")


async def test_a_line_is_witnessed_by_those_who_are_ticked(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.session.scene.set_present({RED, ORANGE})
        opened = await dialog(table, NarrationModal, "add_line")
        assert opened.query_one(SlotChecks).ticked == (RED, ORANGE)
        await table.type("A hand on her shoulder.")
        await table.pilot.press("tab", "down", "space")
        await store(table, opened)
        await table.until(lambda: table.transcript.text == "⟨Mira⟩ A hand on her shoulder.")
        [line] = await lines(table)
        assert line.audience == Audience.of({RED})


async def test_a_line_that_is_refused_stays_in_the_dialog_with_the_reason(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        opened = await dialog(table, NarrationModal, "add_line")
        await table.type("The lamp goes out.")
        held = await table.session.submit_prompt(RED, "HOLD on")
        await table.until(lambda: table.is_streaming)
        opened.query_one("#store", Button).press()
        await table.until(lambda: "still being written" in refusal(opened))
        assert opened.query_one(CappedTextArea).text == "The lamp goes out."
        gate.open()
        await table.session.wait(held)
        await store(table, opened)
        assert [line.text for line in await lines(table)] == ["The lamp goes out."]


async def test_a_line_that_was_begun_is_there_when_the_dialog_opens_again(desktop: Desktop) -> None:
    async def begin(table: Table, kind: type[NarrationModal], action: str) -> None:
        await dialog(table, kind, action)
        await table.type("The lamp")
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, kind))
        opened = await dialog(table, kind, action)
        assert opened.query_one(CappedTextArea).text == "The lamp"
        await store(table, opened)
        opened = await dialog(table, kind, action)
        assert opened.query_one(CappedTextArea).text == ""
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, kind))

    async with at_table(desktop) as table:
        await begin(table, NarrationModal, "add_line")
        await begin(table, SceneModal, "begin_scene")


async def test_dice_are_rolled_by_their_key_and_those_rolled_last_are_offered(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        table.session.scene.draw = lambda sides: sides - 1
        await table.pilot.press("alt+d")
        await table.until(lambda: isinstance(table.app.screen, DiceModal))
        assert table.app.screen.query_one(CappedTextArea).text == "d20"
        await table.type("2d6")
        await table.pilot.press("enter")
        await table.until(lambda: table.transcript.text == "[Roll 2d6: 6, 6; total 12]")
        assert not isinstance(table.app.screen, DiceModal)
        opened = await dialog(table, DiceModal, "roll_dice")
        assert opened.query_one(CappedTextArea).text == "2d6"


async def test_what_are_no_dice_and_a_line_without_text_are_refused_in_their_dialogs(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        # A word that is no roll is refused in the dialog.
        opened = await dialog(table, DiceModal, "roll_dice")
        await table.type("[b]x")
        await table.pilot.press("enter")
        await table.until(lambda: "“[b]x” is not a roll of dice" in refusal(opened))
        assert opened.query_one(CappedTextArea).text == "[b]x"
        await table.pilot.press("tab", "enter", "escape")
        await table.until(lambda: not isinstance(table.app.screen, DiceModal))
        assert await lines(table) == []
        # A line without text is refused in the dialog.
        opened = await dialog(table, NarrationModal, "add_line")
        opened.query_one("#store", Button).press()
        await table.until(lambda: "no text" in refusal(opened))


async def test_enter_ticks_and_presses_where_it_does_not_roll(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        opened = await dialog(table, DiceModal, "roll_dice")
        await table.pilot.press("tab", "enter")
        assert opened.query_one(SlotChecks).ticked == (ORANGE, YELLOW)
        await table.pilot.press("tab", "enter")
        await table.until(lambda: not isinstance(table.app.screen, DiceModal))
        assert await lines(table) == []


def test_the_last_dice_are_read_only_from_a_roll() -> None:
    assert last_dice(()) == "d20"


async def test_a_secret_is_revealed_to_those_who_are_ticked(desktop: Desktop) -> None:
    def palette(table: Table) -> set[str]:
        assert isinstance(table.app, StoryEngineApp)
        return {command.title for command in commands_of(table.app, lambda: None)}

    async with at_window(desktop) as table:
        assert "Reveal a secret" not in palette(table)
        await table.session.scene.edit_secrets(secrets("The [b]key[/b] is hers.", "The boat leaks."))
        await table.until(lambda: "Reveal a secret" in palette(table))
        opened = await dialog(table, RevealModal, "reveal")
        assert opened.query_one(SlotChecks).ticked == (ORANGE, YELLOW)
        await table.pilot.press("down")
        await table.pilot.press("enter", "down", "space")
        assert opened.query_one(SlotChecks).ticked == (YELLOW,)
        await store(table, opened)
        await table.until(lambda: table.transcript.text == "⟨Agent Yellow⟩ The boat leaks.")
        [line] = await lines(table)
        assert (line.reveals, line.audience) == (2, Audience.of({YELLOW}))


async def test_ticks_stay_that_come_in_one_packet_with_the_choice_of_a_secret(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.session.scene.edit_secrets(secrets("The key is hers.", "The boat leaks."))
        for leave in ("enter", "tab"):
            opened = await dialog(table, RevealModal, "reveal")
            for key in ("down", leave, "down", "space"):
                table.app.post_message(events.Key(key, " " if key == "space" else None))
            await table.until(lambda opened=opened: opened.query_one(SlotChecks).ticked == (YELLOW,))
            await table.pilot.pause()
            assert opened.query_one(SlotChecks).ticked == (YELLOW,)
            await table.pilot.press("escape")
            await table.until(lambda: not isinstance(table.app.screen, RevealModal))


async def test_a_secret_is_revealed_to_somebody_and_not_offered_once_everyone_knows_it(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        await table.session.scene.edit_secrets(secrets("The key is hers."))
        opened = await dialog(table, RevealModal, "reveal")
        opened.query_one(SlotChecks).tick_only(())
        opened.query_one("#store", Button).press()
        await table.until(lambda: refusal(opened) == "Tick those who learn it.")
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, RevealModal))
        await table.until(lambda: table.pane.check_action("reveal", ()) is True)
        await table.session.scene.reveal(1, {ORANGE, YELLOW})
        await table.until(lambda: table.pane.check_action("reveal", ()) is False)


async def test_a_line_is_not_added_while_a_reply_is_written(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.begin("HOLD on")
        assert table.pane.check_action("add_line", ()) is None
        await table.pilot.press("alt+d")
        await table.until(lambda: table.app._notifications)
        assert "still being written" in next(iter(table.app._notifications)).message
        gate.open()
        await table.until(lambda: table.played(1))


async def test_the_reply_and_not_the_roll_after_it_is_corrected_and_undone(desktop: Desktop) -> None:
    async with at_table(desktop, prompts=1) as table:
        reply = table.snapshot.recent[-1].text
        await table.session.scene.roll("d20")
        await table.until(lambda: "[Roll" in table.transcript.text)
        table.pane.takes.action_correct_reply()
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))
        assert table.app.screen.query_one(CappedTextArea).text == reply
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, ReplyModal))
        await table.pilot.press("ctrl+o")
        await table.until(lambda: table.text(RED) == "Prompt number 1.")
        assert table.transcript.text == ""


async def test_a_line_that_the_store_refuses_is_not_lost(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_table(desktop) as table:

        async def refuse(*_: object, **__: object) -> None:
            raise IllegalCommandError("Not [b]now[/b].")

        monkeypatch.setattr(table.session.scene, "narrate", refuse)
        opened = await dialog(table, NarrationModal, "add_line")
        await table.type("x")
        opened.query_one("#store", Button).press()
        await table.until(lambda: refusal(opened) == "Not [b]now[/b].")
        assert opened.query_one(CappedTextArea).has_focus


async def test_a_line_that_was_begun_is_there_again_after_one_was_begun_in_another_chapter(
    desktop: Desktop,
) -> None:
    async with at_window(desktop, prompts=1) as table:
        app, first = table.app, table.session.id
        assert isinstance(app, StoryEngineApp)

        async def begin(text: str) -> str:
            opened = await dialog(table, NarrationModal, "add_line")
            begun = opened.query_one(CappedTextArea).text
            await table.type(text)
            await table.pilot.press("escape")
            await table.until(lambda: app.screen is app.chapter)
            return begun

        assert await begin("One") == ""
        await app.workspace.branch(1)
        await table.until(lambda: app.chapter.is_open and table.session.id != first)
        assert await begin("Two") == ""
        await app.workspace.open(first)
        await table.until(lambda: app.chapter.is_open and table.session.id == first)
        assert await begin("") == "One"


async def test_seven_characters_leave_the_answers_on_the_smallest_screen(desktop: Desktop) -> None:
    async with at_table(desktop, size=(80, 24)) as table:
        await table.session.scene.edit_secrets(secrets(*(f"The key is {where}." for where in "abcdef")))
        cast = replace(table.stored, slots=tuple(Slot))
        table.session._writer.snapshot = replace(table.snapshot, session=cast)
        for kind, action in ((NarrationModal, "add_line"), (DiceModal, "roll_dice"), (RevealModal, "reveal")):
            opened = await dialog(table, kind, action)
            refused = opened.query_one("#refused", Static)
            refused.update("a reason of two lines " * 5)
            refused.display = True
            await table.until(lambda refused=refused: refused.region.height == 2)
            await table.until(lambda opened=opened: opened.query_one("#store").region.height)
            assert opened.region.contains_region(opened.query_one("#store").region)
            assert opened.query_one(SlotChecks).region.height == len(Slot)
            await table.pilot.press("escape")
            await table.until(lambda kind=kind: not isinstance(table.app.screen, kind))
        await table.pilot.press("ctrl+l")
        await table.until(lambda: isinstance(table.app.screen, HearersModal))
        await table.until(lambda: table.app.screen.query_one("Button.action").region.height)
        box = table.app.screen.query_one(".dialog--box").region
        assert all(box.contains_region(button.region) for button in table.app.screen.query(Button))
        assert table.app.screen.query_one(SlotChecks).max_scroll_y == 0


def secrets(*texts: str) -> list[Secret]:
    """Secrets that Mira knows."""
    return [
        Secret(number=number, text=text, known_by=Audience.of({RED})) for number, text in enumerate(texts, 1)
    ]


async def test_a_line_that_is_being_stored_takes_no_more_keys_and_is_not_offered_again(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_store, store_text = asyncio.Event(), NarrationModal.store

    async def slow(modal: NarrationModal, hearers: tuple[Slot, ...]) -> None:
        await store_text(modal, hearers)
        await may_store.wait()

    monkeypatch.setattr(NarrationModal, "store", slow)
    async with at_table(desktop) as table:
        opened = await dialog(table, NarrationModal, "add_line")
        await table.type("The lamp goes out.")
        opened.query_one("#store", Button).press()
        await table.until(lambda: "The lamp" in table.transcript.text)
        opened.query_one(CappedTextArea).focus()
        await table.pilot.press(*"No.", "escape")
        assert opened.query_one(CappedTextArea).text == "The lamp goes out.", "it would be lost"
        may_store.set()
        await table.until(lambda: table.app.screen is not opened)
        again = await dialog(table, NarrationModal, "add_line")
        assert again.query_one(CappedTextArea).text == "", "it would be stored twice"
        await table.pilot.press("escape")
