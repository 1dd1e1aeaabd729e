"""Connecting a model (F6) while a call runs: the engine restarts only once the GM has agreed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.requests.request import ReplyRequest, RequestState
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.engine_app import Desktop, make_active, screen_text
from tests.tui.rooms.play_table import SCRIPT, Gate, Table
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def at_question(desktop: Desktop) -> AsyncIterator[tuple[Table, StoryEngineApp]]:
    """Sit at a table where settings were changed while a reply comes; the question is on the screen."""
    desktop.script = SCRIPT
    async with desktop.window(make_active) as (pilot, app):
        table = await Table.opened(pilot)
        await table.send("HOLD on.")
        await table.until(lambda: table.transcript.text.endswith("Mira: I"))
        app.post_message(StoryEngineApp.Reconfigured(app.configuration))
        await table.until(lambda: isinstance(app.screen, ConfirmModal))
        assert "Restart with the new settings?" in screen_text(app)
        assert "The reply of Mira is stopped" in screen_text(app)
        yield table, app


async def test_new_settings_wait_for_the_next_start_where_the_gm_keeps_the_running_reply(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_question(desktop) as (table, app):
        engine = app.engine
        await table.pilot.press("escape")
        await table.until(lambda: any("next start" in note.message for note in app._notifications))
        gate.open()
        await table.until(lambda: table.played(1))
        assert app.engine is engine


async def test_new_settings_stop_the_running_reply_once_the_gm_agrees(desktop: Desktop, gate: Gate) -> None:
    async with at_question(desktop) as (table, app):
        engine = app.engine
        await table.pilot.press("tab", "enter")
        await table.until(lambda: app.engine not in (None, engine) and app.session is not None)
        [request] = table.snapshot.failed(ReplyRequest)
        assert request.state is RequestState.FAILED
