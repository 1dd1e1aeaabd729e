"""A bug in work that a page does beside the keys is reported and logged, as any other bug is."""

import asyncio

import pytest
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker, WorkerFailed

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


class LateScreen(Screen[None]):
    """A screen whose work comes back while it is removed: after its parts, and before it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.is_closing = asyncio.Event()
        self.work: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        yield LatePart()

    def on_mount(self) -> None:
        self.work = self.run_worker(self._read(), exit_on_error=False)

    async def _read(self) -> None:
        await self.is_closing.wait()
        await stumble()


class LatePart(Widget):
    async def on_unmount(self) -> None:
        assert isinstance(self.screen, LateScreen)
        assert self.screen.work is not None
        self.screen.is_closing.set()
        with pytest.raises(WorkerFailed):
            await self.screen.work.wait()


@pytest.mark.needs(Part.CRASH_RECOVERY)
async def test_work_that_comes_back_to_a_page_that_is_being_closed_is_logged_and_not_reported(
    desktop: Desktop, caplog: pytest.LogCaptureFixture
) -> None:
    await desktop.prepare(make_active)
    caplog.set_level("INFO")
    async with desktop.app().run_test() as pilot:
        await opened(pilot)
        screen = LateScreen()
        await pilot.app.push_screen(screen)
        await pilot.pause()
        await screen.dismiss()
        for _ in range(20):
            await pilot.pause()
        assert screen.work is not None
        assert isinstance(screen.work.error, ZeroDivisionError)
        assert "failed while it was removed" in caplog.text
        assert not isinstance(pilot.app.screen, BugScreen)
