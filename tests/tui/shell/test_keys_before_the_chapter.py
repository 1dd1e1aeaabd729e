"""Keys that lead to a tab or a list, pressed while the program starts."""

import asyncio

import pytest
from textual.widgets import DataTable

from core.domain.errors import ErrorCode, StorageError
from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.shell.app import StoryEngineApp
from tests.tui.engine_app import Desktop, in_front, make_active, opened, until

pytestmark = pytest.mark.anyio


async def starting(desktop: Desktop) -> tuple[StoryEngineApp, asyncio.Event]:
    """Return a program that reads its configuration only when the event is set."""
    may_start = asyncio.Event()

    async def read() -> Configuration:
        await may_start.wait()
        return Configuration(desktop.paths, desktop.settings)

    await desktop.prepare(lambda engine: make_active(engine, 1))
    return StoryEngineApp(desktop.start, Unread(desktop.paths, read)), may_start


@pytest.mark.parametrize("key", ["f4", "f5"])
async def test_a_key_of_a_tab_or_a_list_that_is_pressed_during_the_start_acts_once_the_chapter_is_open(
    desktop: Desktop, key: str
) -> None:
    app, may_start = await starting(desktop)
    async with app.run_test() as pilot:
        await pilot.press(key)
        may_start.set()
        await until(pilot, lambda: app.session is not None)
        if key == "f5":
            await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
        else:
            await until(pilot, lambda: app.chapter.active_tab == "narrative")
            await opened(pilot)
        await app.close_everything()


async def test_letters_behind_the_key_of_a_list_during_the_start_are_no_text_of_the_story(
    desktop: Desktop,
) -> None:
    app, may_start = await starting(desktop)
    async with app.run_test() as pilot:
        await pilot.press("G", "o", "f5", "v", "backspace", "enter")
        may_start.set()
        await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, PromptArea))
        assert isinstance(app.focused, PromptArea)
        assert app.focused.text == "Go"
        await app.close_everything()


async def test_where_a_chapter_cannot_be_opened_f5_lists_the_others_at_once(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desktop.prepare(make_active)
    async with desktop.window(make_active) as (pilot, app):
        assert app.engine is not None
        assert app.session is not None
        opened_first = app.session.id
        others = [one.id for one in await app.engine.sessions() if one.id != opened_first]

        async def fail(_: object) -> None:
            raise StorageError(ErrorCode.STORAGE_LOAD_FAILED)

        with monkeypatch.context() as patch:
            patch.setattr(app.engine, "open", fail)
            app.do(app.workspace.open(others[0]))
            await until(pilot, lambda: app.session is None)
        await pilot.press("f5")
        await in_front(pilot, ChaptersScreen, DataTable)
        await pilot.press("enter")
        await opened(pilot)
