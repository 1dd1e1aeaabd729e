"""Tab 2 brings back a prompt that a restore removed while it was answered, and lets the answer be kept."""

from pathlib import Path

import pytest

from core.domain.slot import Slot
from db.backups.dump import backup, restore
from tests.tui.engine_app import PostgresDesktop, screen_text
from tests.tui.rooms.play_table import Gate, at_table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


async def test_a_prompt_that_a_restore_removed_is_back_in_its_panel_and_its_answer_can_be_kept(
    postgres_desktop: PostgresDesktop, gate: Gate, tmp_path: Path
) -> None:
    async with at_table(postgres_desktop) as table:
        await backup(postgres_desktop.url, tmp_path / "b.dump")
        await table.begin("HOLD the line")
        await restore(postgres_desktop.url, tmp_path / "b.dump", replace=True)
        gate.open()
        await table.until(lambda: "The backup that was restored does not have this prompt" in table.banner())
        assert "Your text is back in the panel" in table.banner()
        await table.until(lambda: table.text(Slot.RED) == "HOLD the line")
        await table.until(lambda: "Keep what came" in screen_text(table.app), "the answer is offered")
        table.pane.takes.action_keep_partial()
        await table.until(lambda: "I hold on. Then I let go." in table.transcript.text)
        assert table.text(Slot.RED) == ""
        assert table.banner() == ""
