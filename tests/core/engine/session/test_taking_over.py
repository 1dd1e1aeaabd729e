"""A window that takes a chapter over, and whose taking over is cut short."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.errors import StorageError
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import CallStarted
from core.providers.scripted.script import Entry, ScriptMatch
from tests.core.rooms.faulty_store import AWAY
from tests.core.rooms.killed_window import end_as_killed
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import play, room

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def left_alone(scene: Room) -> AsyncIterator[SessionHandle]:
    """Yield a window that reads along, after the one that wrote was killed while a model answered."""
    async with scene.opened() as first, scene.opened() as second:
        await first.submit_prompt(Slot.RED, "Hello?")
        await scene.heard(CallStarted)
        await end_as_killed(first)
        yield second


def that_hangs() -> Room:
    return room(Entry(match=ScriptMatch(last="Hello?"), first_token=3_600.0, times=1))


async def test_a_window_that_cannot_mend_the_chapter_reads_on_and_takes_over_when_the_store_is_back() -> None:
    scene = that_hangs()
    async with left_alone(scene) as second:
        scene.store.failures = [AWAY]
        with pytest.raises(StorageError):
            await second.take_over()
        assert second.is_read_only
        assert scene.store.writer is None, "another window may write"
        assert await second.take_over()
        await play(second, "Once more.")


@pytest.mark.parametrize("steps", range(10))
async def test_taking_over_that_is_cancelled_anywhere_leaves_no_lock_behind(steps: int) -> None:
    scene = that_hangs()
    async with left_alone(scene) as second:
        task = asyncio.create_task(second.take_over())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert second.is_read_only is (scene.store.writer is None)
        assert await second.take_over()
        await play(second, "Once more.")
