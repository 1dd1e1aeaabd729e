"""Leaving a chapter for another one while a model writes in it."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from core.domain.requests.request import NarrativeRequest
from storyengine_tui.screens.chapter.next_chapter import QUESTION, begin_next
from storyengine_tui.screens.setup.secrets.secret_screen import SecretScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, in_front, make_draft, screen_text, until
from tests.tui.rooms.chapter_page import HELD, make_ended

pytestmark = pytest.mark.anyio

Go = Callable[[StoryEngineApp], Coroutine[Any, Any, object]]


def is_writing(app: StoryEngineApp) -> bool:
    session = app.session
    return session is not None and any(
        isinstance(one, NarrativeRequest) and one.is_processing for one in session.snapshot.open_requests
    )


async def another(app: StoryEngineApp) -> None:
    await app.workspace.open(await app.workspace.require_engine().create())


async def a_branch(app: StoryEngineApp) -> None:
    await app.workspace.branch(1)


async def a_new_one(app: StoryEngineApp) -> None:
    await app.workspace.open_new()


async def the_archive(app: StoryEngineApp) -> None:
    assert app.session is not None
    await app.workspace.archive(app.session.id)


class ClosedUnpainted(Screen[None]):
    """A screen that is closed before it was painted again, and calls nothing that waits for that."""

    async def _invoke_and_clear_callbacks(self) -> None:
        """Do nothing."""


async def test_every_tab_has_a_chapter_that_was_opened_by_a_screen_that_closed_at_once(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_ended) as (pilot, app):
        await until(pilot, lambda: app.chapter.is_open)
        before = app.session
        app.push_screen(ClosedUnpainted())
        await another(app)
        await pilot.pause()
        app.pop_screen()
        await until(pilot, lambda: app.session is not before and app.chapter.is_open)
        assert app.session is not None
        await app.session.edits.retitle("Followed")
        await until(pilot, lambda: "Followed" in screen_text(app))


async def test_a_narrative_that_is_being_written_is_stopped_only_after_a_question(desktop: Desktop) -> None:
    desktop.script = HELD
    async with desktop.window(make_ended) as (pilot, app):
        assert app.session is not None
        written = app.session.id
        for go in (another, a_branch, a_new_one, the_archive):
            await app.workspace.open(written)
            await leave_after_a_question(pilot, app, go)


async def leave_after_a_question(pilot: Pilot[Any], app: StoryEngineApp, go: Go) -> None:
    """Have the chapter written; stay at the first question, and leave at the second."""
    session = app.session
    assert session is not None
    await session.build_narrative()
    await until(pilot, lambda: is_writing(app))
    stored = len(await app.workspace.require_engine().sessions())
    for answer in ("escape", "tab"):
        app.do(go(app))
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await until(pilot, lambda: "The writing of the chapter is stopped;" in screen_text(app))
        await pilot.press(answer)
        if answer == "escape":
            await until(pilot, lambda: app.screen is app.chapter)
            assert app.session is session
            assert is_writing(app)
    made = len(await app.workspace.require_engine().sessions()) - stored
    assert made == (2 if go is another else 0), "no chapter is made before the answer"
    await pilot.press("enter")
    await until(pilot, lambda: app.session not in (None, session) and app.chapter.is_open)


async def test_the_next_chapter_is_begun_after_one_question_about_the_calls_that_are_stopped(
    desktop: Desktop,
) -> None:
    desktop.script = HELD
    async with desktop.window(make_ended) as (pilot, app):
        session, engine = app.session, app.workspace.require_engine()
        assert session is not None
        await engine.library.books.next_chapter(session.id)
        await session.build_narrative()
        await until(pilot, lambda: is_writing(app))
        app.do(begin_next(app, app.workspace, session.id))
        for said in ("The writing of the chapter is stopped;", QUESTION):
            await until(pilot, partial(lambda said: said in screen_text(app), said), said)
            await pilot.press("tab", "enter")
        await until(pilot, lambda: app.session not in (None, session) and app.chapter.is_open)


async def test_a_chapter_that_is_reset_while_it_is_written_is_replaced_without_another_question(
    desktop: Desktop,
) -> None:
    desktop.script = HELD
    async with desktop.window(make_ended) as (pilot, app):
        session = app.session
        assert session is not None
        await session.build_narrative()
        await until(pilot, lambda: is_writing(app))
        await session.reset()
        await until(pilot, lambda: app.session not in (None, session))
        assert app.screen is app.chapter


@pytest.mark.parametrize("go", [another, the_archive])
async def test_what_is_typed_over_a_chapter_is_stored_before_it_is_left(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, go: Go
) -> None:
    monkeypatch.setattr("storyengine_tui.screens.shared.autosave.DEBOUNCE_SECONDS", 3600)
    monkeypatch.setattr("storyengine_tui.screens.shared.autosave.MAX_DELAY_SECONDS", 3600)
    async with desktop.window(make_draft) as (pilot, app):
        session = app.session
        assert session is not None
        secret = SecretScreen(app.workspace, session, 1)
        app.push_screen(secret)
        await in_front(pilot, SecretScreen, CappedTextArea)
        app.push_screen(SecretScreen(app.workspace, session, 2))
        await until(pilot, lambda: app.screen is not secret)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is secret)
        await pilot.press(*"rope")
        app.do(go(app))
        await until(pilot, lambda: app.session is not None and app.session is not session)
        stored = await app.workspace.require_engine().reader(session.id).load()
        assert [one.text for one in stored.secrets] == ["rope"]
