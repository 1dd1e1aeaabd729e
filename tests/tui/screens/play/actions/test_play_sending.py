"""Tab 2: lines that models are always or never sent, and new scenes (design 16)."""

import pytest
from textual.widgets import Button

from core.domain.audience import EVERYONE
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus, EventStatus
from storyengine_tui.screens.play.scene.line_modals import SceneModal
from storyengine_tui.shell.palette_commands import TAB_ACTIONS
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Table, at_table

pytestmark = pytest.mark.anyio
ALWAYS, NEVER, DEFAULT = ContextStatus.ALWAYS, ContextStatus.NEVER, ContextStatus.DEFAULT


def statuses(table: Table) -> tuple[EventStatus, ...]:
    return table.session.snapshot.statuses


def notices(table: Table) -> list[str]:
    return [notice.message for notice in table.app._notifications] or [""]


async def test_a_key_in_the_transcript_marks_the_line_at_the_cursor_and_goes_on_to_the_next_status(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        table.transcript.focus()
        await table.pilot.pause()
        assert "k" not in table.app.screen.active_bindings
        await table.pilot.press("v", "up", "up")
        saids = iter(
            ("Prompt 1 is always sent", "Prompt 1 is sent to no model", "Prompt 1 is sent while it is recent")
        )
        for status, sign in ((ALWAYS, "⟨always sent⟩ 1) Who"), (NEVER, "⟨never sent⟩ 1) Who"), (DEFAULT, "")):
            await table.pilot.press("k")
            await table.until(lambda: statuses(table) == (EventStatus(1, 1, 0, status),))  # noqa: B023
            await table.until(lambda: table.transcript.text.startswith(sign or "1) Who"))  # noqa: B023
            said = next(saids)
            await table.until(lambda: notices(table)[-1].startswith(said))  # noqa: B023
            assert len(notices(table)) == 1, "it takes the place of the one before"
        await table.pilot.press("down", "k")
        await table.until(lambda: notices(table)[-1].startswith("Line 1 after prompt 1 is always sent"))


async def test_the_key_pressed_twice_at_once_goes_on_by_two(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        table.transcript.focus()
        await table.pilot.press("v", "up", "up")
        for _ in range(2):  # The second key comes while the first status is being stored.
            await table.pane.run_action("mark_here")
        await table.until(lambda: notices(table)[-1].startswith("Prompt 1 is sent to no model"))
        assert statuses(table) == (EventStatus(1, 1, 0, NEVER),)


async def test_the_palette_marks_the_line_at_the_cursor_and_offers_it_only_with_one(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        assert not table.pane.check_action("send", ("never",))
        table.transcript.focus()
        await table.pilot.press("v")
        assert table.pane.check_action("send", ("never",))
        assert {("play", f"send('{one}')") for one in ContextStatus} <= {line[:2] for line in TAB_ACTIONS}
        await table.pane.run_action("send('never')")
        await table.until(lambda: statuses(table) == (EventStatus(1, 1, 1, NEVER),))
        await table.until(lambda: "⟨never sent⟩ " in table.transcript.text)


async def test_the_sign_is_no_part_of_what_is_copied(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        await table.session.scene.set_status(list(table.session.snapshot.recent), ALWAYS)
        await table.until(lambda: table.transcript.text.count("⟨always sent⟩") == 2)
        table.transcript.focus()
        await table.pilot.press("ctrl+a", "c")
        await table.until(lambda: "Who is there?" in table.app.clipboard)
        assert "always sent" not in table.app.clipboard


async def test_a_new_scene_is_a_line_of_its_own_with_words_or_without(desktop: Desktop) -> None:
    async with at_table(desktop) as table:
        await table.play("Who is there?")
        for words, shown in (("", "* * *"), ("At the mill.", "* * *\nAt the mill.")):
            await table.pane.run_action("begin_scene")
            await table.until(lambda: isinstance(table.app.screen, SceneModal))
            await table.pilot.pause()
            await table.type(words)
            table.app.screen.query_one("#store", Button).press()
            await table.until(lambda: table.transcript.text.endswith(shown))  # noqa: B023
        assert "sent⟩" not in table.transcript.text
        first, second = [event for event in table.session.snapshot.recent if event.begins_scene]
        assert (first.is_never_sent, second.is_never_sent) == (True, False)
        assert first.audience == EVERYONE
        await table.session._writer.know_memory()
        known = table.session.snapshot.known_to(Slot.RED).events
        assert [event.text for event in known if event.begins_scene] == ["* * *\nAt the mill."]
