"""A line that is marked while a model summarises its chunk."""

import asyncio

import pytest

from core.domain.audience import Audience
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.base import ModelRequest
from db.store import PostgresStore
from tests.engine.memory.test_marked_lines import say
from tests.engine.windows import GatedModel, chapter, engine_on, is_summary

pytestmark = pytest.mark.anyio


async def test_memory_is_whole_where_a_line_is_marked_between_two_deltas_of_its_chunk(
    store: PostgresStore,
) -> None:
    is_second = asyncio.Event()
    summaries: list[ModelRequest] = []

    def held(call: ModelRequest) -> bool:
        if is_summary(call):
            summaries.append(call)
        if is_summary(call) and len(summaries) == 2:
            is_second.set()
            return True
        return False

    model = GatedModel(when=held)
    async with chapter(store, model, chunk_size=2) as session:
        await say(session, "Aloud.")
        asked = await session.submit_prompt(Slot.RED, "To one.", heard_by=Audience.of((Slot.RED,)))
        await session.wait(asked)
        await is_second.wait()
        await session.scene.set_status(await store.canon(session.id, first=1, last=1), ContextStatus.NEVER)
        model.gate.set()
        await session.wait_idle()
        told = [block.audience.slots for block in await store.blocks(session.id) if block.last == 2]
        assert told == [Audience().slots, {Slot.RED}]
        assert from_json(to_json(await read_body(store, session.id)))
        assert session.snapshot.blocks == tuple(await store.memory(session.id))
        points = engine_on(store).save_points
        kept = await points.keep(session.id, "Now")
        restored = await points.restore(session.id, kept.number)
        copied = [block.audience.slots for block in await store.blocks(restored) if block.last == 2]
        assert copied == told
