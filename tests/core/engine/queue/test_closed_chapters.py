"""The queue forgets a chapter once it is closed: its story does not stay in memory until the program ends."""

import gc
from weakref import ref

import pytest

from core.config.models.assignments import defaults_for
from core.engine.engine import Engine
from core.engine.sync.notifications import QueuePaused
from core.providers.scripted.provider import ScriptedProvider
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


def engine_of(store: MemoryStore) -> Engine:
    return Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")


async def test_a_closed_chapter_is_not_kept_in_memory() -> None:
    engine = engine_of(MemoryStore())
    session = await engine.open(await engine.create())
    writer = ref(session._writer)
    await session.aclose()
    del session
    gc.collect()
    assert writer() is None


async def test_the_queue_keeps_a_chapter_that_was_opened_again_before_it_was_closed() -> None:
    engine = engine_of(MemoryStore())
    first = await engine.open(await engine.create())
    second = await engine.open(first.id)
    await first.aclose()
    with second.listen() as listener:
        await engine.queue.pause()
        await second.aclose()
        assert [one async for one in listener if isinstance(one, QueuePaused)]
