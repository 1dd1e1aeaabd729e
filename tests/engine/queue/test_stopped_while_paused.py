"""A pause keeps nothing from being stopped: what was about to begin fails at once, and calls no model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.domain.requests.request import RequestState, SummaryRequest
from core.domain.session.session_state import SessionState
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from tests.engine.windows import (
    PATIENCE,
    GatedModel,
    Recorder,
    create,
    done,
    engine_on,
    listening,
    playable,
    set_up,
    streaming,
)
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def lock_waiting(model: Recorder) -> AsyncIterator[tuple[Engine, SessionHandle, RequestId]]:
    """Open a new chapter whose lock waits, because the queue is paused."""
    store = MemoryStore()
    engine = engine_on(store, model)
    session = await engine.open(await create(store))
    await set_up(session)
    await engine.queue.pause()
    async with asyncio.timeout(PATIENCE):
        yield engine, session, await session.lock()
    await session.aclose()
    assert not model.calls


async def test_a_lock_that_waits_in_a_paused_queue_can_be_cancelled() -> None:
    async with lock_waiting(Recorder()) as (engine, session, request_id):
        await session.cancel(request_id)
        assert (await session.wait(request_id)).state is RequestState.FAILED
        assert session.snapshot.session.state is SessionState.DRAFT_TAB1
        assert engine.queue.is_paused


async def test_a_lock_that_waits_in_a_paused_queue_is_stopped_there_as_the_refusal_to_drop_it_says() -> None:
    async with lock_waiting(Recorder()) as (engine, session, request_id):
        with pytest.raises(IllegalCommandError, match="stop it instead"):
            await engine.queue.drop(request_id)
        assert await engine.queue.stop(request_id)
        assert (await session.wait(request_id)).state is RequestState.FAILED


async def test_a_chapter_whose_summary_waits_in_a_paused_queue_can_be_archived() -> None:
    store, model = MemoryStore(), GatedModel()
    engine = engine_on(store, model)
    session = await engine.open(await playable(store, chunk_size=1))
    async with listening(session) as ears:
        request_id = await streaming(session, ears)
        await engine.queue.pause()
        model.gate.set()
        await done(session, request_id)
        waiting = session.snapshot.open_requests
        assert [type(one) for one in waiting] == [SummaryRequest]
        await session.archive()
    assert session.snapshot.session.archived_at is not None
    assert len(model.calls) == 1
    await session.aclose()
