"""A window that follows reads each block of memory once, also where the next is stored while it reads."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.domain.ids import SessionId
from core.domain.story.memory import MemoryBlock
from core.engine.sync.change_feed import read_changes
from core.storage.changes import Changes
from core.storage.session_store import Lease
from tests.store import chapters
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


class BusyStore(MemoryStore):
    """Another window stores changes between the session and its blocks."""

    late: tuple[Changes, Lease] | None = None

    async def blocks(
        self, session_id: SessionId, *, after: int = -1, ordinal: int = 0
    ) -> Sequence[MemoryBlock]:
        late, self.late = self.late, None
        if late is not None:
            await self.commit(*late)
        return await super().blocks(session_id, after=after, ordinal=ordinal)


async def test_a_block_that_is_stored_during_a_reading_comes_with_the_next_one_alone() -> None:
    store = BusyStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 14)
    before = await store.load(session.id, recent_prompts=14)
    before = replace(before, blocks=tuple(await store.memory(session.id)), is_memory_known=True)

    def summarised(first: int, last: int) -> Changes:
        block = chapters.delta(session, first, last)
        return Changes(session_id=session.id, session=replace(session, boundary=last), blocks=(block,))

    await store.commit(summarised(1, 7), lease)
    store.late = (summarised(8, 14), lease)
    first = await read_changes(store, before)
    second = await read_changes(store, first.snapshot)

    assert [block.last for block in first.snapshot.blocks] == [0, 7]
    assert [block.last for block in second.snapshot.blocks] == [0, 7, 14]


async def test_memory_that_was_read_before_the_session_has_each_block_once() -> None:
    store = MemoryStore()
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 7)
    before = await store.load(session.id, recent_prompts=7)
    block = chapters.delta(session, 1, 7)
    await store.commit(
        Changes(session_id=session.id, session=replace(session, boundary=7), blocks=(block,)), lease
    )
    before = replace(before, blocks=tuple(await store.memory(session.id)), is_memory_known=True)

    after = await read_changes(store, before)

    assert [block.last for block in after.snapshot.blocks] == [0, 7]
