"""Widgets that are hidden at a start come after the first paint."""

import pytest

from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from tests.tui.engine_app import Desktop, opened


@pytest.mark.anyio
async def test_the_first_paint_waits_for_no_widget_that_it_does_not_show(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted: list[set[str]] = []
    mount_hidden = ChapterScreen.mount_hidden

    async def note(screen: ChapterScreen) -> None:
        painted.append({type(widget).__name__ for widget in screen.query("*")})
        await mount_hidden(screen)

    monkeypatch.setattr(ChapterScreen, "mount_hidden", note)
    app = desktop.app()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        hidden = ["EarlyPanel", "BusyLine", "Banner", "WriterBanner", "PausedBanner"]
        below_pages = [type(widget).__name__ for widget in app.chapter.children]
        assert below_pages[-6:] == [*hidden, "KeyLine"]
        assert app.chapter.query_one("#early").has_class("-tall"), "as high as the composer that follows"
        await app.close_everything()
    assert len(painted) == 1
    assert painted[0].isdisjoint(hidden)
