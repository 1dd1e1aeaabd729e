"""Tab 2: a branch at a prompt, and a draft that moves to another panel (design 12)."""

import pytest
from textual import events

from core.domain.session.profile import Profile
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.storage.snapshot import Snapshot
from storyengine_tui.screens.play.actions.take_modals import BranchModal
from storyengine_tui.screens.play.play_view import with_other_names
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.core.values.sessions import session
from tests.tui.engine_app import Desktop, screen_text
from tests.tui.rooms.play_table import at_table, at_window

pytestmark = pytest.mark.anyio


async def test_a_draft_moves_to_another_panel(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        assert table.pane.text_targets() == ()
        await table.type("For somebody else")
        assert table.pane.text_targets() == (
            ("move_text(2)", "2 Jonas [/x]"),
            ("move_text(3)", "3 Agent Yellow"),
        )
        await table.pane.run_action("move_text(2)")
        assert (table.text(Slot.RED), table.text(Slot.ORANGE)) == ("", "For somebody else")
        assert table.slot() is Slot.ORANGE
        await table.until(lambda: table.area(Slot.ORANGE).has_focus)
        await table.pane.flush()
        assert table.snapshot.unsent == {Slot.ORANGE: "For somebody else"}


def test_the_palette_finds_the_panel_by_the_other_names_of_its_character() -> None:
    told = Profile(aliases=("Kay", "The [/x] Keeper", "x" * 90))
    tab1 = Tab1Inputs(profiles={Slot.RED: told})
    snapshot = Snapshot(session=session(names={Slot.RED: "Kara"}), tab1=tab1)
    assert with_other_names(snapshot, Slot.RED).startswith("1 Kara (Kay, The [/x] Keeper, xxx")
    assert len(with_other_names(snapshot, Slot.RED)) < 80
    assert with_other_names(snapshot, Slot.ORANGE) == "2 Agent Orange"


async def test_a_prompt_that_is_marked_in_the_transcript_can_be_branched(desktop: Desktop) -> None:
    async with at_window(desktop, prompts=3) as table:
        before = table.session.id
        assert "b" not in table.app.screen.active_bindings
        table.transcript.focus()
        await table.pilot.press("v", *["up"] * 2, "b")
        await table.until(lambda: isinstance(table.app.screen, BranchModal))
        assert table.app.screen.query_one(CappedTextArea).text == "2"
        await table.pilot.press("enter")
        await table.until(lambda: table.session.id != before and table.pane.has_session)
        assert table.stored.prompt_index == 2
        assert table.stored.branched_from == before
        await table.until(lambda: "2) Prompt number 2." in table.transcript.text)
        assert "3)" not in table.transcript.text


async def test_a_number_that_is_no_prompt_is_refused_in_the_dialog_and_typed_over(desktop: Desktop) -> None:
    async with at_window(desktop, prompts=2) as table:
        before = table.session.id
        table.pane.takes.action_branch()
        await table.until(lambda: isinstance(table.app.screen, BranchModal))
        for typed in ("3", "0", "x"):
            await table.pilot.press("ctrl+a", "ctrl+k", typed, "enter")
            await table.until(lambda: "Type the number of a prompt, 1 to 2." in screen_text(table.app))
            assert isinstance(table.app.screen, BranchModal)
            assert table.app.screen.query_one(CappedTextArea).text == typed
        await table.pilot.press("escape")
        table.pane.takes.action_branch()
        await table.until(lambda: isinstance(table.app.screen, BranchModal))
        await table.pilot.press("1", "enter")
        await table.until(lambda: table.session.id != before and table.pane.has_session)
        assert table.stored.prompt_index == 1, "what is typed takes the place of the newest prompt's number"


async def test_enter_comes_after_what_was_typed_in_the_same_packet(desktop: Desktop) -> None:
    async with at_window(desktop, prompts=3) as table:
        before = table.session.id
        table.transcript.focus()
        await table.pilot.press("v", *["up"] * 2, "b")
        await table.until(lambda: isinstance(table.app.screen, BranchModal))
        for key, character in (("backspace", None), ("1", "1"), ("enter", "\r")):
            table.app.post_message(events.Key(key, character))
        await table.until(lambda: table.session.id != before and table.pane.has_session)
        assert table.stored.prompt_index == 1
