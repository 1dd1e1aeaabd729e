"""The engine's own task: it ends where it began, whoever waited for it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from storyengine_tui.shell.engine_lifecycle import Runtime

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
