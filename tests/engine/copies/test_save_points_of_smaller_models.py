"""Save points of a chapter whose memory was begun by one model and made by another, with less room."""

from dataclasses import replace

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.audience import Audience
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import CHOICES, chapter, done, engine_on, failing, play, scripted, window

pytestmark = pytest.mark.anyio

LONG = "The ice sings under the boards of the pier before it is light. " * 60
SMALLER = ModelAssignments(
    {
        **CHOICES,
        AgentRole.CONTEXT_SUMMARY: replace(CHOICES[AgentRole.CONTEXT_SUMMARY], max_input_tokens=4_000),
    }
)


async def test_a_save_point_holds_where_a_model_with_less_room_made_the_memory_that_another_began(
    store: PostgresStore,
) -> None:
    third = failing(RequestKind.SUMMARY, Fault.AUTH, times=None, calls=[3])
    async with chapter(store, scripted(third), chunk_size=3) as session:
        for number, heard_by in enumerate([None, Audience.of((Slot.RED,)), None], start=1):
            text = f"Prompt {number}. {LONG}"
            await done(session, await session.submit_prompt(Slot.RED, text, heard_by=heard_by))
            if number == 1:
                await session.scene.narrate("A bell.", hearers=[Slot.RED, Slot.ORANGE])
        await session.wait_idle()
        [failed] = session.snapshot.requests
    assert [(one.first, one.last) for one in await store.revisions(session.id)] == [(1, 3), (1, 3)]
    async with window(store, None, session.id, choices=SMALLER) as session:
        await session.retry(failed.id)
        await session.wait_idle()
        await play(session, 3)
    blocks = await store.blocks(session.id)
    assert [(one.first, one.last) for one in blocks if one.ordinal == 0] == [(0, 0), (1, 2), (3, 3), (4, 6)]
    save_points = engine_on(store).save_points
    kept = await save_points.keep(session.id, "Now")
    assert await save_points.damages(session.id) == []
    restored = await save_points.restore(session.id, kept.number)
    assert [one.payload for one in await store.blocks(restored)] == [one.payload for one in blocks]
