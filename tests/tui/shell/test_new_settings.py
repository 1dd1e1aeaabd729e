"""Connecting a model (F6) while a call runs: the engine restarts only once the GM has agreed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.widgets import Input

from core.domain.requests.request import ReplyRequest, RequestState
from core.storage.session_store import SessionStore
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, make_active, make_draft, screen_text, until
from tests.tui.rooms.play_table import SCRIPT, Gate, Table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


def copied(app: StoryEngineApp) -> Configuration:
    """Return settings that are the same, and another object."""
    return replace(app.configuration)


@asynccontextmanager
async def at_question(desktop: Desktop) -> AsyncIterator[tuple[Table, StoryEngineApp]]:
    """Sit at a table where settings were changed while a reply comes; the question is on the screen."""
    desktop.script = SCRIPT
    async with desktop.window(make_active) as (pilot, app):
        table = await Table.opened(pilot)
        await table.send("HOLD on.")
        await table.until(lambda: table.transcript.text.endswith("Mira: I"))
        app.post_message(StoryEngineApp.Reconfigured(copied(app)))
        await table.until(lambda: isinstance(app.screen, ConfirmModal))
        assert "Restart with the new settings?" in screen_text(app)
        assert "The reply of Mira is stopped" in screen_text(app)
        yield table, app


async def test_new_settings_wait_for_the_next_start_where_the_gm_keeps_the_running_reply(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_question(desktop) as (table, app):
        engine, before = app.engine, app.chapter.configuration
        await table.pilot.press("escape")
        await table.until(lambda: any("next start" in note.message for note in app._notifications))
        gate.open()
        await table.until(lambda: table.played(1))
        assert app.engine is engine
        assert app.configuration is not before, "F6 goes on from what is stored"
        assert app.chapter.configuration is before, "who is called is said of the engine that runs"


async def test_new_settings_wait_for_the_next_start_where_something_typed_cannot_be_stored(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        engine, before, wanted = app.engine, app.chapter.configuration, copied(app)
        await pilot.press("f4")
        app.chapter.query_one("#target", Input).focus()
        await pilot.press(*"6000")
        app.post_message(StoryEngineApp.Reconfigured(wanted))
        await until(pilot, lambda: any("next start" in note.message for note in app._notifications))
        assert "A target is 1 to 5,000 words, or empty." in screen_text(app)
        assert app.engine is engine
        assert (app.configuration, app.chapter.configuration) == (wanted, before)
        assert app.configuration is wanted
        app.chapter.query_one("#target", Input).value = ""


async def test_new_settings_stop_the_running_reply_once_the_gm_agrees(desktop: Desktop, gate: Gate) -> None:
    async with at_question(desktop) as (table, app):
        engine = app.engine
        await table.pilot.press("tab", "enter")
        await table.until(lambda: app.engine not in (None, engine) and app.session is not None)
        assert app.chapter.configuration is app.configuration
        [request] = table.snapshot.failed(ReplyRequest)
        assert request.state is RequestState.FAILED


async def test_newer_settings_are_put_to_use_while_the_engine_still_starts_with_new_ones(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        engine, open_store = app.engine, desktop.open_store
        gate, is_starting = asyncio.Event(), asyncio.Event()

        async def open_late() -> SessionStore:
            is_starting.set()
            await gate.wait()
            return await open_store()

        desktop.open_store = open_late
        app.post_message(StoryEngineApp.Reconfigured(copied(app)))
        await until(pilot, is_starting.is_set)
        app.post_message(StoryEngineApp.Reconfigured(copied(app)))
        await until(pilot, lambda: app._runtime._stop.is_set())
        gate.set()
        await until(pilot, lambda: desktop.windows == 3 and app.engine is not engine and app.chapter.is_open)
        await until(pilot, lambda: not any(one.group == "engine" for one in app.workers))
        assert app.session is not None
        assert app.session._writer.label == "window 3", "that of the engine that runs"
