"""Commands that change which chapter is open, while another of them, or new settings, are under way."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
from textual.widgets import Input

from storyengine_tui.screens.chapter.next_chapter import begin_next
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, make_draft, screen_text, until
from tests.tui.rooms.chapter_page import HELD, make_ended

pytestmark = pytest.mark.anyio

Go = Callable[[StoryEngineApp], Coroutine[Any, Any, object]]


async def a_branch(app: StoryEngineApp) -> None:
    await app.workspace.branch(1)


async def a_new_one(app: StoryEngineApp) -> None:
    await app.workspace.open_new()


async def the_next(app: StoryEngineApp) -> None:
    assert app.session is not None
    await begin_next(app, app.workspace, app.session.id)


async def a_restored_one(app: StoryEngineApp) -> None:
    assert app.session is not None
    slots = await app.workspace.require_engine().save_points.listed(app.session.id)
    await app.workspace.restore_save_point(app.session.id, slots[0])


@pytest.mark.parametrize("go", [a_branch, a_new_one, the_next, a_restored_one])
async def test_no_chapter_is_made_while_something_typed_cannot_be_stored(desktop: Desktop, go: Go) -> None:
    async with desktop.window(make_ended) as (pilot, app):
        session, engine = app.session, app.workspace.require_engine()
        await pilot.press("f4")
        app.chapter.query_one("#target", Input).focus()
        await pilot.press(*"6000")
        app.do(go(app))
        await until(pilot, lambda: "A target is 1 to 5,000 words, or empty." in screen_text(app))
        await until(pilot, lambda: not any(one.group == "workspace" for one in app.workers))
        assert app.session is session
        assert len(await engine.sessions()) == 1
        app.chapter.query_one("#target", Input).value = ""


async def test_a_chapter_that_is_archived_twice_is_followed_by_one_other(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        session, engine = app.session, app.workspace.require_engine()
        assert session is not None
        for _ in range(2):
            app.do(app.workspace.archive(session.id))
        await until(pilot, lambda: not any(one.group == "workspace" for one in app.workers))
        await until(pilot, lambda: app.chapter.is_open)
        assert [one.id for one in await engine.sessions()] == [app.session and app.session.id]


async def test_a_chapter_that_was_archived_twice_can_be_restored_and_written(desktop: Desktop) -> None:
    desktop.script = HELD
    async with desktop.window(make_ended) as (pilot, app):
        session, engine = app.session, app.workspace.require_engine()
        assert session is not None
        await session.build_narrative()
        for _ in range(2):
            app.do(app.workspace.archive(session.id))
        for _ in range(2):
            await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
            question = app.screen
            await pilot.press("tab", "enter")
            await until(pilot, partial(lambda screen: app.screen is not screen, question))
            await until(pilot, lambda: app.session not in (None, session) and app.chapter.is_open)
        await until(pilot, lambda: not any(one.group == "workspace" for one in app.workers))
        await engine.restore(session.id)
        await app.workspace.open(session.id)
        assert app.session is not None
        assert app.session.id == session.id
        assert not app.session.is_read_only


async def test_a_chapter_that_is_wanted_while_new_settings_are_put_to_use_opens_with_them(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        session, engine = app.session, app.workspace.require_engine()
        assert session is not None
        gate, is_closing = asyncio.Event(), asyncio.Event()
        close = session.aclose

        async def close_late() -> None:
            is_closing.set()
            await gate.wait()
            await close()

        monkeypatch.setattr(session, "aclose", close_late)
        app.post_message(StoryEngineApp.Reconfigured(app.configuration))
        await until(pilot, is_closing.is_set)
        wanted = await engine.create()
        app.do(app.workspace.open(wanted))
        await pilot.pause()
        gate.set()
        await until(pilot, lambda: app.engine not in (None, engine) and app.chapter.is_open)
        assert app.screen is app.chapter
        assert app.session is not None
        assert app.session.id == wanted
