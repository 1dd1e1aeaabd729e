"""A block of memory that is built again after a failure: nothing that was paid for is asked for again."""

import pytest

from core.domain.audience import EVERYONE
from core.domain.requests.request import RequestState, SummaryRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import RequestSettled
from db.store import PostgresStore
from tests.engine.scene.test_scene import ALONE, FailsAtSummary, say
from tests.engine.windows import chapter, is_summary, listening, window

pytestmark = pytest.mark.anyio
RED, ORANGE = Slot.RED, Slot.ORANGE
FIRST_BUILD = 2
"""Deltas of a chunk that two audiences heard."""


async def fail_second_delta(session: SessionHandle) -> SummaryRequest:
    """Build a block again, and return the request, whose second delta failed."""
    await say(session, RED, "To all.")
    await say(session, ORANGE, "To you.", ALONE[ORANGE])
    request = await session.wait(await session.takes.rebuild_block(2))
    assert isinstance(request, SummaryRequest)
    assert request.state is RequestState.FAILED
    return request


async def test_the_gm_retries_a_rebuilt_block_that_failed_and_stored_deltas_are_used(
    store: PostgresStore,
) -> None:
    model = FailsAtSummary(FIRST_BUILD + 2)
    async with chapter(store, model, chunk_size=2) as session:
        request = await fail_second_delta(session)
        [part] = [one for one in await session.takes.revisions() if one.revision == 2]
    async with window(store, model, session.id) as session:
        assert await session.retry(request.id) == request.id
        await session.wait_idle()
        blocks = (await session.reads.memory_blocks())[1:]
        assert [block.audience for block in blocks] == [EVERYONE, ALONE[ORANGE]]
        assert blocks[0].id == part.id
        assert not session.snapshot.failed(SummaryRequest)
        assert session.snapshot.session.state is SessionState.ACTIVE
    assert sum(map(is_summary, model.calls)) == FIRST_BUILD + 3


async def test_a_rebuilt_block_that_failed_for_a_passing_reason_is_tried_again_by_itself(
    store: PostgresStore,
) -> None:
    model = FailsAtSummary(FIRST_BUILD + 2)
    async with chapter(store, model, chunk_size=2, backoff=0.01) as session:
        async with listening(session) as ears:
            request = await fail_second_delta(session)
            settled = await ears.hear(RequestSettled, lambda one: one.request.id == request.id)
        assert settled.request.state is RequestState.DONE
        blocks = (await session.reads.memory_blocks())[1:]
        assert [(block.audience, block.revision) for block in blocks] == [(EVERYONE, 2), (ALONE[ORANGE], 2)]
        assert not session.snapshot.failed(SummaryRequest)
    assert sum(map(is_summary, model.calls)) == FIRST_BUILD + 3
