"""Tab 3 lists no drafts that a restored backup lacks."""

from pathlib import Path

import pytest

from db.backups.dump import backup, restore
from tests.tui.engine_app import PostgresDesktop
from tests.tui.rooms.chapter_page import SCRIPT, chapter_page, make_ended

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kept", [0, 1])
async def test_drafts_that_a_restore_removed_are_not_listed_once_the_window_writes_again(
    postgres_desktop: PostgresDesktop, tmp_path: Path, kept: int
) -> None:
    postgres_desktop.script = SCRIPT
    async with chapter_page(postgres_desktop, lambda engine: make_ended(engine, drafts=kept)) as page:
        await backup(postgres_desktop.url, tmp_path / "b.dump")
        await page.session.wait(await page.session.build_narrative())
        await page.until(lambda: len(page.draft.drafts) == kept + 1)
        await restore(postgres_desktop.url, tmp_path / "b.dump", replace=True)
        await page.session.edits.define_narrative("Dry.", 40)
        await page.until(lambda: len(page.draft.drafts) == kept, "gone")
        assert page.download.disabled is not bool(kept)
        await page.session.wait(await page.session.build_narrative())
        await page.until(lambda: len(page.draft.drafts) == kept + 1)
        assert [draft.version for draft in page.draft.drafts] == [*range(1, kept + 2)]
