"""Save slots of a chapter in which not everyone hears everything."""

import asyncio
from typing import Any

import pytest

from core.domain.audience import NOBODY
from core.domain.slot import Slot
from core.domain.story.save_point import AUTOMATIC, SavePoint
from db.store import PostgresStore
from tests.engine.windows import Wrapped, chapter, play

pytestmark = pytest.mark.anyio


async def test_a_summary_of_several_audiences_takes_one_slot_also_while_play_goes_on(
    store: PostgresStore,
) -> None:
    class Slow(Wrapped):
        """Save slots of which one waits until play has gone on."""

        begun, gate = asyncio.Event(), asyncio.Event()

        async def put(self, point: SavePoint, **more: Any) -> None:
            if point.label.startswith("summary"):
                self.begun.set()
                await self.gate.wait()
            await self._inner.put(point, **more)

    slow = Slow(store.save_points)
    async with chapter(Wrapped(store, save_points=slow)) as session:
        await session.wait(await session.submit_prompt(Slot.RED, "Psst", heard_by=NOBODY))
        await play(session, 6)
        await slow.begun.wait()
        await play(session, 1)
        slow.gate.set()
        session_id = session.id
        assert len([block for block in await store.memory(session_id) if block.first == 1]) > 1
    taken = [slot for slot in await store.save_points.listed(session_id) if slot.number in AUTOMATIC]
    assert [slot.label for slot in taken] == ["the chapter was locked", "summary of prompts 1–7"]
