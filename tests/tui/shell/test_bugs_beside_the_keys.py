"""A bug in work that a page does beside the keys is reported and logged, as any other bug is."""

import pytest

from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.screens.system.bug_screen import BugScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.parts import Part
from tests.tui.engine_app import Desktop, make_active, opened

pytestmark = pytest.mark.anyio


async def stumble() -> None:
    raise ZeroDivisionError("a bug of a page")


@pytest.mark.needs(Part.CRASH_RECOVERY)
@pytest.mark.parametrize("kind", ["page", "screen", "app"])
async def test_a_bug_in_work_beside_the_keys_is_reported_wherever_it_runs(
    desktop: Desktop, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    await desktop.prepare(make_active)
    app = desktop.app()
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - raised by the app at its end
        async with app.run_test() as pilot:
            await opened(pilot)
            assert isinstance(app, StoryEngineApp)
            node = {"page": app.chapter.query_one(PlayPane), "screen": app.chapter, "app": app}[kind]
            node.run_worker(stumble(), exit_on_error=False)
            for _ in range(200):
                await pilot.pause()
            assert isinstance(app.screen, BugScreen), "it is reported nowhere"
            assert "a bug of a page" in caplog.text
            await app.close_everything()
