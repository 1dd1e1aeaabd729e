"""A page in whose work a bug came up can be left, and shows no work that has ended."""

from typing import Any

import pytest
from textual.pilot import Pilot

from core.domain.errors import ErrorCode, StorageError
from core.engine.session.assist import Assist
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.calls.history_view import HistoryView
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.setup.assist.assist_screen import AssistScreen
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.screens.system.bug_screen import BugScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.textual_ext.parts import Part
from tests.tui.engine_app import Desktop, in_front, make_active, make_draft, screen_text, until

pytestmark = [pytest.mark.anyio, pytest.mark.needs(Part.CRASH_RECOVERY)]


@pytest.fixture(autouse=True)
def reports(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Take the bugs in place of Textual, which would end the test with them."""
    noted = list[Exception]()
    monkeypatch.setattr(StoryEngineApp, "record_exception", lambda app, error: noted.append(error))
    return noted


async def stumble(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("a bug of a page")


async def read(pilot: Pilot[Any]) -> None:
    """Read the report of the bug, and go back."""
    await in_front(pilot, BugScreen)
    await pilot.press("escape")


async def test_help_with_a_text_is_closed(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        monkeypatch.setattr(Assist, "propose", stumble)
        await pilot.press("alt+a")
        await in_front(pilot, AssistScreen)
        await pilot.press("c")
        await read(pilot)
        await in_front(pilot, AssistScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)


async def test_the_dialog_of_the_lock_is_closed(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        monkeypatch.setattr(SessionHandle, "lock", stumble)
        await pilot.press("f3")
        await in_front(pilot, LockModal)
        await pilot.press("right", "enter")
        await read(pilot)
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.chapter.active_tab == "setup"


async def test_the_calls_are_left_whatever_key_came_before(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        monkeypatch.setattr(HistoryView, "reload", stumble)
        await pilot.press("f7")
        await read(pilot)
        await in_front(pilot, CallsScreen)
        await pilot.press("k", "escape")
        await until(pilot, lambda: app.screen is app.chapter)


async def test_the_chapter_does_not_say_any_more_that_the_program_closes(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        with monkeypatch.context() as patch:
            patch.setattr(Workspace, "close_for_good", stumble)
            await pilot.press("ctrl+q")
            await read(pilot)
        await until(pilot, lambda: app.screen is app.chapter)
        assert "Storing and closing" not in screen_text(app)


async def test_a_bug_while_what_cannot_be_stored_is_given_up_does_not_keep_the_program_from_ending(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: StoryEngineApp

    async def close(_: Workspace, *, insists: bool = False) -> None:
        if not insists:
            raise ZeroDivisionError("a bug of a page")
        await app.leave(is_forced=True)  # as a signal does that comes meanwhile
        raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

    async with desktop.window(make_active) as (pilot, app):
        with monkeypatch.context() as patch:
            patch.setattr(Workspace, "close_for_good", close)
            await pilot.press("ctrl+q")
            await read(pilot)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.has_exited)
