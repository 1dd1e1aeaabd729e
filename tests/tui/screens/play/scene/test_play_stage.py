"""Tab 2 where characters are away, have no words, or were silent for long."""

import pytest
from textual.widgets import Static

from core.domain.audience import EVERYONE, NOBODY
from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from core.providers.scripted.script import Entry, Script, ScriptMatch
from storyengine_tui.screens.play.actions.take_modals import ReplyModal
from storyengine_tui.screens.play.scene.stage_modals import (
    AwayModal,
    HintModal,
    ReasonModal,
    SilenceModal,
    read_number,
)
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.panel_switcher import SlotEntries
from tests.tui.engine_app import Desktop, screen_text
from tests.tui.rooms.play_table import Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
REASON = "She [b]fears[/b] Kara."


def entries(table: Table) -> str:
    return str(table.pane.query_one(SlotEntries).render())


def answering(*texts: str) -> Script:
    match = ScriptMatch(schema="text")
    return Script(
        reply=tuple(Entry(match=match, text=text, calls=(n,)) for n, text in enumerate(texts, start=1))
    )


async def dialog(table: Table, action: str, kind: type[object], *keys: str) -> None:
    """Open a dialog, press these keys in it, and wait until it has closed."""
    await table.pane.run_action(action)
    await table.until(lambda: isinstance(table.app.screen, kind) and table.app.screen.focused)
    await table.pilot.press(*keys)
    await table.until(lambda: not isinstance(table.app.screen, kind))


async def test_a_chapter_that_uses_none_of_it_asks_the_store_nothing_and_shows_no_mark(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_table(desktop) as table:
        monkeypatch.setattr(type(table.session._store), "last_replies", None)
        await table.play("Who is there?")
        assert "◌" not in entries(table)
        assert "…" not in entries(table)
        assert table.title(RED) == "To 1 Mira"
        assert table.pane.check_action("why_silent", ()) is False


async def test_who_leaves_for_a_while_is_marked_skipped_and_back_at_the_prompt(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        keys = ("down", "space", "shift+tab", "3", "tab", "tab", "tab", "enter")
        await dialog(table, "choose_away", AwayModal, *keys)
        await table.until(lambda: "away until prompt 3" in table.title(ORANGE))
        assert entries(table).count("◌") == 1
        await table.play("One?")
        assert table.slot() is YELLOW
        await table.play("Two?")
        await table.until(lambda: "away" not in table.title(ORANGE))
        assert "◌" not in entries(table)
        assert table.stored.here == EVERYONE


async def test_a_prompt_to_one_that_is_away_comes_back_with_what_to_do(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.session.scene.set_away({ORANGE: 0})
        await table.pilot.press("alt+2")
        await table.send("Where are you?")
        await table.until(lambda: "bring" in table.trouble())
        assert table.text(ORANGE) == "Where are you?"
        await dialog(table, "choose_away", AwayModal, "down", "space", "tab", "tab", "enter")
        assert table.stored.away == {}
        await table.pilot.press("enter")
        await table.until(lambda: table.played(1))


async def test_an_absence_that_is_refused_stays_in_its_dialog_with_the_reason(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.pane.run_action("choose_away")
        await table.until(lambda: isinstance(table.app.screen, AwayModal))
        await table.pilot.press("space", "shift+tab", "1", "tab", "tab", "tab", "enter")
        refused = table.app.screen.query_one("#refused", Static)
        await table.until(lambda: "choose a later one" in str(refused.render()))
        assert table.stored.away == {}
        await table.pilot.press("escape")


async def test_a_silent_reply_shows_neither_its_marks_nor_its_reason_until_the_gm_asks(
    desktop: Desktop, gate: Gate
) -> None:
    desktop.script = Script(
        reply=(
            Entry(
                match=ScriptMatch(schema="text"),
                text=f"[silent]\n[why] {REASON}",
                between_tokens=1,
                calls=(1,),
            ),
            Entry(match=ScriptMatch(schema="text"), text="[action] turns the [b]lamp[/b] down"),
        )
    )
    async with at_table(desktop) as table:
        await dialog(table, "let_be_silent", SilenceModal, "space", "down", "space", "tab", "tab", "enter")
        assert table.stored.may_be_silent.slots == {RED, ORANGE}
        await table.begin("One?")
        assert table.transcript.text.endswith("Mira: ")
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.transcript.text.endswith("Mira says nothing.")
        await table.play("Two?")
        assert table.transcript.text.endswith("*turns the [b]lamp[/b] down*")
        assert "fears" not in table.transcript.text
        table.transcript.focus()
        await table.pilot.press("w")
        await table.until(lambda: isinstance(table.app.screen, ReasonModal))
        shown = [str(one.render()) for one in table.app.screen.query(Static)]
        assert "Mira says nothing." in shown
        assert REASON in shown
        await table.pilot.press("escape")
        await table.until(lambda: not isinstance(table.app.screen, ReasonModal))
        await table.pane.run_action("view_as")
        await table.until(lambda: table.pane.reading.viewpoint is RED)
        assert table.pane.check_action("why_silent", ()) is False


async def test_a_correction_of_a_silent_reply_begins_with_an_empty_field(desktop: Desktop) -> None:
    desktop.script = answering(f"[silent]\n[why] {REASON}")
    async with at_table(desktop) as table:
        await table.session.scene.set_silence(EVERYONE)
        await table.play("One?")
        await table.pane.run_action("correct_reply")
        await table.until(lambda: isinstance(table.app.screen, ReplyModal))
        assert table.app.screen.query_one(CappedTextArea).text == ""
        await table.pilot.press("escape")


async def test_a_character_that_was_silent_for_long_is_marked_until_it_has_replied(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await dialog(table, "hint_after", HintModal, "2", "enter")
        await table.until(lambda: table.stored.hint_after == 2)
        for text in ("One", "Two"):
            await table.pilot.press("alt+1")
            await table.play(text)
        await table.until(lambda: "silent for 2 prompts" in table.title(ORANGE))
        assert "silent for 2 prompts" in table.title(YELLOW)
        assert table.title(RED) == "To 1 Mira"
        assert entries(table).count("…") == 2
        await table.pilot.press("alt+2")
        await table.play("Three")
        await table.until(lambda: "silent for 3 prompts" in table.title(YELLOW))
        assert "silent" not in table.title(ORANGE)
        await dialog(table, "hint_after", HintModal, "0", "enter")
        await table.until(lambda: "silent" not in table.title(YELLOW))


async def test_what_is_no_number_is_refused_in_a_sentence(desktop: Desktop) -> None:
    assert (read_number(""), read_number(" 1,000 ")) == (0, 1000)
    with pytest.raises(IllegalCommandError, match="not a number"):
        read_number("nine")
    async with at_table(desktop) as table:
        await table.pane.run_action("hint_after")
        await table.until(lambda: isinstance(table.app.screen, HintModal) and table.app.screen.focused)
        await table.pilot.press("x", "enter")
        await table.until(lambda: "not a number" in screen_text(table.app))
        assert isinstance(table.app.screen, HintModal), "what was typed is still there"
        assert table.stored.hint_after == 0


async def test_the_palette_offers_it_in_the_window_that_writes(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        for action in ("choose_away", "let_be_silent", "hint_after"):
            assert table.pane.check_action(action, ()) is True
        assert table.pane.check_action("why_silent", ()) is False
        assert table.stored.may_be_silent == NOBODY
