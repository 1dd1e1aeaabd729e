"""A paused queue is said on every tab, with what to do; nothing of it shows while it is not paused."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from core.domain.slot import Slot
from storyengine_tui.screens.chapter.paused_banner import PausedBanner
from storyengine_tui.shell.app import StoryEngineApp
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, opened, screen_text, until
from tests.tui.rooms.play_table import Gate, at_window
from tests.tui.rooms.play_table import gate as gate
from tests.tui.screens.calls.queue.queue_double import QueueDouble

pytestmark = pytest.mark.anyio


def pause(app: StoryEngineApp) -> QueueDouble:
    """Pause a queue, as the database says when a chapter is opened."""
    queue = QueueDouble(is_paused=True)
    app.chapter.paused.queue = queue
    app.chapter.paused.show_state(app.session)
    return queue


async def test_a_queue_is_said_on_every_tab_from_its_pause_until_its_button_goes_on_or_is_refused(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        # A queue is said on every tab from its pause until its button goes on.
        assert not app.chapter.query_one(PausedBanner).is_shown
        assert app.chapter.query_one(PausedBanner).region.height == 0
        queue = pause(app)
        for key in ("f2", "f3", "f4"):
            await pilot.press(key)
            await until(pilot, lambda: "The queue is paused: nothing new is sent." in screen_text(app), key)
        app.chapter.query_one("PausedBanner Button", Button).press()
        await until(pilot, lambda: not app.chapter.query_one(PausedBanner).is_shown)
        assert queue.told == [("resume",)]
        # A resume that is refused says why.
        pause(app).refuses = "The database is away [/x]."
        await until(pilot, lambda: "nothing new is sent" in screen_text(app))
        app.chapter.query_one("PausedBanner Button", Button).press()
        await until(pilot, lambda: app._notifications)
        assert [note.message for note in app._notifications] == ["The database is away [/x]."]
        assert app.chapter.query_one(PausedBanner).is_shown


async def test_prompts_that_wait_are_counted(desktop: Desktop, gate: Gate) -> None:
    async with at_window(desktop) as table:
        assert isinstance(table.app, StoryEngineApp)
        app = table.app
        await table.begin("HOLD on")
        pause(app)
        await table.session.submit_prompt(Slot.ORANGE, "First.")
        await table.until(lambda: "nothing new is sent, and 1 prompt waits." in screen_text(app))
        assert table.queued == ["To 2 Jonas [/x], waits its turn: First."]
        await table.session.submit_prompt(Slot.ORANGE, "Second.")
        await table.until(lambda: "and 2 prompts wait." in screen_text(app))
        gate.open()
        await table.until(lambda: table.played(3))
        await table.until(lambda: "nothing new is sent." in screen_text(app))


def test_picture_of_a_paused_queue(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_active)

    async def show(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        pause(app)
        await until(pilot, lambda: "nothing new is sent" in screen_text(app))

    assert pictures_match(desktop.app(), run_before=show)
