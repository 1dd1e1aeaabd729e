"""Tab 2: what was typed into a dialog is there again after the program was ended (design 10)."""

import pytest
from textual.widgets import Static

from core.domain.audience import Audience
from core.domain.slot import Slot
from storyengine_tui.screens.chapter.workspace import NOT_SAVED
from storyengine_tui.screens.play.actions.take_modals import ReplyModal
from storyengine_tui.screens.play.scene.line_modals import NarrationModal, SceneModal
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayModal
from storyengine_tui.widgets.dialogs.stored_text_modal import BEGUN_OVER
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, make_active, until
from tests.tui.rooms.play_table import Gate, Table, at_table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


async def begin(table: Table, action: str, kind: type[OverlayModal[bool] | OverlayModal[None]]) -> str:
    """Open a dialog, and return the text with which it begins."""
    await table.pane.run_action(action)
    await table.until(lambda: isinstance(table.app.screen, kind) and table.app.screen.focused)
    return table.app.screen.query_one(CappedTextArea).text


@pytest.mark.parametrize(
    ("action", "kind", "before"),
    [
        ("add_line", NarrationModal, ""),
        ("begin_scene", SceneModal, ""),
        ("correct_reply", ReplyModal, "I see."),
    ],
)
async def test_a_text_that_was_not_stored_is_there_again_after_the_program_was_killed(
    desktop: Desktop, action: str, kind: type[OverlayModal[bool] | OverlayModal[None]], before: str
) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        assert await begin(table, action, kind) == before
        await table.type(" The lamp")
        assert isinstance(table.app.screen, kind)
        assert not table.app.screen.unsaved
        [file] = desktop.paths.data.glob(f"*-{table.session.id}")
    assert file.read_text() == f"{before} The lamp"
    assert file.stat().st_mode & 0o777 == 0o600
    async with at_table(desktop, prompts=None) as table:
        assert await begin(table, action, kind) == f"{before} The lamp"
        shown = "".join(str(line.content) for line in table.app.screen.query(Static))
        assert (BEGUN_OVER in shown) is bool(before)
        await table.pilot.click("#add" if before else "#store")
        await table.until(lambda: "The lamp" in table.transcript.text)
        await table.until(lambda: not isinstance(table.app.screen, kind))
        assert not file.exists()


async def test_a_begun_correction_is_of_its_own_reply_alone(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        await begin(table, "correct_reply", ReplyModal)
        await table.type(" The lamp")
    async with at_table(desktop, prompts=None) as table:
        await table.play("And now?")
        assert await begin(table, "correct_reply", ReplyModal) == "I see."


async def test_a_prompt_that_waited_and_was_being_edited_is_in_its_panel_as_it_was_edited(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.begin("HOLD on")
        waits = await table.session.submit_prompt(Slot.ORANGE, "Row!", heard_by=Audience.of([Slot.RED]))
        [request] = [one for one in table.snapshot.open_prompts if one.id == waits]
        kept = KeptText.of_prompt(request, desktop.paths.data)
        kept.keep("Row, and sing!")
        await table.session.edits.save_unsent(Slot.ORANGE, "Then rest.")
    async with at_table(desktop, prompts=None) as table:
        await table.until(lambda: table.text(Slot.ORANGE) == "Row, and sing!\n\nThen rest.")
        assert table.snapshot.unsent[Slot.ORANGE] == table.text(Slot.ORANGE)
        assert table.pane.composer.area(Slot.ORANGE).heard_by == Audience.of([Slot.RED])
    assert not kept.file.exists()


_BEGUN = "a line, a note for the help with a text, a corrected reply"


async def test_it_is_told_once_after_a_kill_what_was_begun_in_a_dialog(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (_, app):
        assert app.session is not None
        names = ("line", "note.world.0", "reply.1.1.1")
        files = [KeptText.of(what, app.session.id, desktop.paths.data) for what in names]
    for file in files:
        file.keep("The lamp")
    for told in ([NOT_SAVED.format(_BEGUN)], []):
        async with desktop.window() as (pilot, app):
            await until(pilot, lambda: app.chapter.active_tab == "play")
            assert [one.message for one in app._notifications] == told
