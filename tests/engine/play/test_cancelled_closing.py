"""The close of a chapter whose caller is cancelled: it goes on, and the lock is released at its end."""

import asyncio

import pytest

from core.config.models.assignments import defaults_for
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from core.storage.session_store import Lease
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


class SlowStore(MemoryStore):
    """A store that takes its time over a title."""

    def __init__(self) -> None:
        super().__init__()
        self.has_come, self.goes_on = asyncio.Event(), asyncio.Event()

    async def commit(self, changes: Changes, lease: Lease) -> None:
        if changes.tab1 is not None or (changes.session is not None and changes.session.title):
            self.has_come.set()
            await self.goes_on.wait()
        await super().commit(changes, lease)


async def test_a_chapter_whose_close_was_cancelled_is_closed_and_can_be_opened_to_write() -> None:
    store = SlowStore()
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    session = await engine.open(await engine.create())
    typing = asyncio.create_task(session.edits.edit_tab1(Tab1Edit(title="The Lamp")))
    await store.has_come.wait()
    closing = asyncio.create_task(session.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    again = asyncio.create_task(session.aclose())
    await asyncio.sleep(0)
    assert not again.done(), "a second close waits for the first"
    store.goes_on.set()
    await asyncio.gather(typing, again)
    opened = await engine.open(session.id)
    assert not opened.is_read_only
    assert opened.snapshot.session.title == "The Lamp"
    await opened.aclose()
