"""Save slots of prompts that were undone: what is added to an earlier prompt meanwhile is no part of them."""

import pytest

from core.domain.clock import utc_now
from core.domain.story.event import Event
from core.engine.services.save_points.save_points import SavePoints
from db.store import PostgresStore
from tests.engine.windows import chapter, play

pytestmark = pytest.mark.anyio


def words(events: tuple[Event, ...]) -> list[str]:
    return [event.text for event in events]


async def test_a_line_that_is_added_after_an_undo_does_not_damage_the_slots_of_what_was_undone(
    store: PostgresStore, without_auto_saves: None
) -> None:
    slots = SavePoints(store, utc_now)
    async with chapter(store) as session:
        await play(session, 2)
        await session.scene.narrate("Night falls.")
        await play(session, 1)
        before = await slots.keep(session.id, "three prompts")
        told = session.snapshot.recent
        await session.takes.undo()
        await session.scene.narrate("It rains.")
        after = await slots.keep(session.id, "two prompts")
        assert await slots.damages(session.id) == []
        restored = [
            (await store.load(await slots.restore(session.id, slot.number))).recent
            for slot in (before, after)
        ]
    assert words(restored[0]) == words(told), "the line came later"
    assert words(restored[1]) == [*words(told)[:5], "It rains."]
