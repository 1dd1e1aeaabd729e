"""What comes before the engine: a page at once, then the settings, then all that is heavy."""

from functools import partialmethod

import pytest
from textual.css.stylesheet import Stylesheet

from core.errors import ErrorCode, StoryEngineError
from storyengine_tui.app import StoryEngineApp
from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.running import run_until_left
from storyengine_tui.widgets.key_line import KeyLine
from tests.tui.engine_app import Desktop, make_active, opened
from tests.tui.engine_app import desktop as desktop
from tests.tui.engine_app import screen_template as screen_template

pytestmark = pytest.mark.anyio


async def test_settings_are_read_once_the_page_shows(desktop: Desktop) -> None:
    shown: list[str] = []

    async def read() -> Configuration:
        shown.extend(str(strip.text) for strip in app.query_one(KeyLine).render_lines(app.screen.region))
        return Configuration(desktop.paths, desktop.settings)

    await desktop.prepare(lambda engine: make_active(engine, 1))
    app = StoryEngineApp(desktop.start, Unread(desktop.paths, read))
    async with app.run_test() as pilot:
        await opened(pilot)
        assert "Quit" in "".join(shown)
        assert app.unread is None
        await app.close_everything()


async def test_settings_that_are_not_valid_end_the_screen_with_their_sentence(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = StoryEngineError(ErrorCode.ILLEGAL_COMMAND, "The setting bell is not valid.")

    async def refuse() -> Configuration:
        raise refusal

    def make(configuration: Configuration | Unread, after: Exception | None) -> StoryEngineApp:
        return StoryEngineApp(desktop.start, configuration, after=after)

    monkeypatch.setattr(StoryEngineApp, "run_async", partialmethod(StoryEngineApp.run_async, headless=True))

    with pytest.raises(StoryEngineError, match="bell") as refused:
        await run_until_left(make, Unread(desktop.paths, refuse))
    assert refused.value is refusal
    assert desktop.windows == 0


async def test_a_start_parses_no_style_twice(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    again = []
    monkeypatch.setattr(Stylesheet, "reparse", lambda _: again.append("reparsed"))
    await desktop.prepare(lambda engine: make_active(engine, 1))
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        assert not again
        app.theme = "textual-light"
        await pilot.pause()
        assert again
        await app.close_everything()
