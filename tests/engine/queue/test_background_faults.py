"""Work beside the play when its call is stopped, its answer cannot be stored, or its chapter is copied."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from core.domain.errors import ErrorCode, StorageError
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.sync.notifications import CallStarted, RequestBegun
from core.gateway.lanes import Lane
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from db.store import PostgresStore
from tests.core.values.sessions import waiting
from tests.engine.queue.test_background import ASKED, add, stored, work
from tests.engine.queue.test_background import work_as_a_kind as work_as_a_kind
from tests.engine.windows import (
    AT_WORK,
    GatedModel,
    Outage,
    chapter,
    done,
    engine_at_work,
    listening,
    playable,
    says,
    scripted,
    window,
)

pytestmark = pytest.mark.anyio


class Thinking(ScriptedProvider):
    """A model that says nothing about the work beside the play before its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.asked = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        if says(ASKED)(request):
            self.asked.set()
            await self.gate.wait()
        async for item in super().stream(request):
            yield item


async def test_a_call_that_makes_room_before_it_answers_is_on_record_and_is_no_try(
    store: PostgresStore,
) -> None:
    session_id = await playable(store)
    model = Thinking()
    session = await engine_at_work(store, model, waiting(3600.0, tries=1)).open(session_id)
    request_id = await add(session)
    await model.asked.wait()
    await done(session, await session.submit_prompt(Slot.RED, "And you?"))
    model.gate.set()
    settled = await session.wait(request_id)
    await session.aclose()
    assert settled.state is RequestState.DONE, "one try is all that it has"
    assert (settled.attempts, settled.tries) == (2, 1)
    sent, answered = await store.calls.artifacts(session_id, request_id=request_id)
    assert (sent.attempt, sent.error_code, sent.output_ref) == (1, ErrorCode.LLM_CANCELLED, None)
    assert (answered.attempt, answered.error_code) == (2, None)
    kept = await stored(store, session, request_id)
    assert (kept.attempts, kept.uncounted) == (2, 1), "also after a restart"


async def test_a_call_that_only_waited_for_its_place_leaves_no_record(store: PostgresStore) -> None:
    session_id = await playable(store)
    model = GatedModel(when=says("And you?"))
    lanes = {"work": Lane(lambda: model, concurrency=1)}
    engine = Engine(store, scripted(), AT_WORK, label="here", lanes=lanes, play=waiting(3600.0))
    session = await engine.open(session_id)
    async with listening(session) as ears:
        await session.submit_prompt(Slot.RED, "And you?")
        await ears.hear(CallStarted)
        request_id = await add(session)
        await ears.hear(CallStarted, lambda notice: notice.request.id == request_id)
        await session.aclose()
    assert not await store.calls.artifacts(session_id, request_id=request_id)
    left = await stored(store, session, request_id)
    assert (left.state, left.attempts) == (RequestState.PENDING, 0)


async def test_work_that_the_gm_retries_has_all_of_its_tries_again(store: PostgresStore) -> None:
    async with chapter(store) as session:
        dead = replace(work(session.id), state=RequestState.DEAD, attempts=5)
        await session.background.add(dead)
        settled = await session.wait(await session.retry(dead.id))
        assert (settled.state, settled.attempts, settled.tries) == (RequestState.DONE, 6, 1)


async def test_work_that_cannot_be_stored_at_all_fails_alone_while_a_character_answers(
    store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    session_id = await playable(store)
    model, outage = GatedModel(when=says("And you?")), Outage(store)
    refusal = StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
    async with window(outage, model, session_id) as session, listening(session) as ears:
        prompt = await session.submit_prompt(Slot.RED, "And you?")
        await ears.hear(RequestBegun, lambda notice: notice.request.id == prompt)
        queued = await session.submit_prompt(Slot.ORANGE, "And later?")
        outage.fail(4, refusal, settles_work)
        with caplog.at_level(logging.ERROR):
            settled = await session.wait(await add(session))
        assert (settled.state, settled.error_code) == (RequestState.FAILED, ErrorCode.STORAGE_SAVE_FAILED)
        assert "could not be settled" in caplog.text
        states = {one.id: one.state for one in session.snapshot.open_prompts}
        assert states == {prompt: RequestState.PROCESSING, queued: RequestState.PENDING}
        model.gate.set()
        await done(session, prompt)
        await done(session, queued)


def settles_work(changes: Changes) -> bool:
    return any(one.spec.is_background and one.attempts and not one.is_processing for one in changes.requests)
