"""Tab 3 when a key comes twice, as on a slow terminal."""

import pytest

from tests.tui.engine_app import Desktop
from tests.tui.rooms.chapter_page import SCRIPT, NarrativeApp, chapter_page, make_ended

pytestmark = pytest.mark.anyio


async def test_a_chapter_that_is_built_by_two_presses_of_a_key_is_built_once(desktop: Desktop) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        for _ in range(2):
            page.pane.build.action_build()
        await page.until(lambda: page.draft.drafts)
        await page.until(lambda: not page.session.snapshot.open_requests)
        assert isinstance(page.app, NarrativeApp)
        assert page.app.errors == []
        assert len(page.draft.drafts) == 1
