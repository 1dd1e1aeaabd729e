"""The engine's own task: it ends where it began, whoever waited for it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from core.engine.engine import Engine
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.system.bug_screen import BugScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.shell.engine_lifecycle import Runtime
from tests.tui.engine_app import Desktop, until

pytestmark = pytest.mark.anyio


async def test_a_start_that_nobody_waits_for_any_more_ends_as_any_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    goes_on, seen = asyncio.Event(), []

    @asynccontextmanager
    async def start() -> AsyncIterator[Any]:
        await goes_on.wait()
        seen.append("started")
        yield object()
        seen.append("ended")

    runtime = Runtime(start)
    waiting = asyncio.create_task(runtime.start())
    await asyncio.sleep(0)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    goes_on.set()
    with caplog.at_level(logging.ERROR):
        await runtime.stop()
    assert seen == ["started", "ended"]
    assert not caplog.records


@asynccontextmanager
async def broken(_: object = None) -> AsyncIterator[Engine]:
    """Fail to start as a bug would."""
    raise OSError("the disk is gone")
    yield


async def test_a_start_that_a_bug_ends_tells_who_waits_for_it() -> None:
    runtime = Runtime(broken)
    with pytest.raises(OSError, match="the disk is gone"):
        await runtime.start()
    await runtime.stop()


async def test_a_bug_at_the_start_is_reported_and_the_start_can_be_tried_again(desktop: Desktop) -> None:
    app = StoryEngineApp(broken, Configuration(desktop.paths, desktop.settings))

    async def start() -> None:
        async with app.run_test() as pilot:
            await until(pilot, lambda: isinstance(app.screen, BugScreen))
            assert app.chapter.feedback.has_failed_to_start

    with pytest.raises(OSError, match="the disk is gone"):
        await start()
