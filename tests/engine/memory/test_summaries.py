"""Summaries that fail are tried again by themselves, before and after a restart, and never twice."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.sync.notifications import CallStarted, MemoryAppended, RequestFailed
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import (
    CHOICES,
    GatedModel,
    Recorder,
    chapter,
    done,
    engine_on,
    failing,
    is_summary,
    listening,
    play,
    scripted,
    window,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]


async def test_a_summary_that_fails_is_made_by_itself_a_little_later(store: PostgresStore) -> None:
    provider = scripted(failing(RequestKind.SUMMARY, Fault.TIME_OUT, times=3))
    async with chapter(store, provider, chunk_size=2, backoff=0.01) as session, listening(session) as ears:
        for _ in range(2):
            await done(session, await session.submit_prompt(Slot.RED, "On"))
        block = (await ears.hear(MemoryAppended)).block
        assert (block.first, block.last) == (1, 2)
        assert len(ears.all(RequestFailed)) == 3
        assert session.snapshot.session.state is SessionState.ACTIVE
        artifacts = await store.calls.artifacts(session.id)
        attempts = [(a.attempt, a.error_code) for a in artifacts if a.agent_id == 8]
        failed = ErrorCode.LLM_TIMEOUT
        assert attempts == [(1, failed), (2, failed), (3, failed), (4, None)]


async def test_play_goes_on_while_summaries_fail_and_they_are_caught_up_each_with_its_own_range(
    store: PostgresStore,
) -> None:
    provider = scripted(failing(RequestKind.SUMMARY, Fault.SERVER_ERROR, times=1))
    async with chapter(store, provider, chunk_size=2, backoff=3600) as session, listening(session) as ears:
        for _ in range(5):
            await done(session, await session.submit_prompt(Slot.RED, "On"))
        assert session.snapshot.session.boundary == 0
        await session.retry((await ears.hear(RequestFailed)).request.id)
        await ears.hear(MemoryAppended, lambda notification: notification.block.last == 4)
        ranges = [(block.first, block.last) for block in await store.blocks(session.id)]
        assert ranges == [(0, 0), (1, 2), (3, 4)]


async def test_a_summary_that_waits_to_be_tried_again_is_tried_after_the_session_was_reopened(
    store: PostgresStore,
) -> None:
    provider = scripted(failing(RequestKind.SUMMARY, Fault.SERVER_ERROR))
    async with chapter(store, provider, chunk_size=1, backoff=0.5) as session:
        await done(session, await session.submit_prompt(Slot.RED, "On"))
        await session.wait_idle()
        [failed] = session.snapshot.requests
    stored = await store.load(session.id)
    assert stored.requests == (failed,)
    assert failed.retry_after is not None
    async with window(store, None, session.id) as session, listening(session) as ears:
        await ears.hear(MemoryAppended)
        calls = await store.calls.artifacts(session.id, request_id=failed.id)
        [done_] = [one for one in calls if not one.error_code]
        assert done_.attempt == 2
        assert done_.created_at >= failed.retry_after - timedelta(milliseconds=50)


@pytest.mark.parametrize("plays_on", [True, False])
async def test_a_due_retry_and_what_the_gm_does_do_not_harm_each_other(
    store: PostgresStore, plays_on: bool
) -> None:
    """The moment the retry is due, and the GM's command, may come at once."""
    provider = scripted(failing(RequestKind.SUMMARY, Fault.SERVER_ERROR))
    async with chapter(store, provider, chunk_size=1, backoff=0.001) as session, listening(session) as ears:
        await done(session, await session.submit_prompt(Slot.RED, "On"))
        await ears.hear(RequestFailed)
        if plays_on:
            await session.submit_prompt(Slot.RED, "And on")
        else:
            await session.end_chapter()
        await session.wait_idle()
        await ears.hear(MemoryAppended)
        await session.wait_idle()
        assert session.snapshot.session.boundary == session.snapshot.session.prompt_index


@pytest.mark.parametrize("count", [9, 14])
async def test_a_chapter_ends_when_everything_is_in_memory(store: PostgresStore, count: int) -> None:
    async with chapter(store) as session:
        await play(session, count)
        await session.end_chapter()
        await session.wait_idle()
        stored = (await store.load(session.id)).session
        assert (stored.state, stored.boundary) == (SessionState.ENDED, count)
        deltas = [(block.first, block.last) for block in await store.blocks(session.id, after=0)]
        assert deltas == {9: [(1, 7), (8, 9)], 14: [(1, 7), (8, 14)]}[count]


async def test_an_end_whose_summary_failed_is_completed_by_a_retry(store: PostgresStore) -> None:
    provider = scripted(failing(RequestKind.SUMMARY, Fault.AUTH))
    async with chapter(store, provider) as session, listening(session) as ears:
        await play(session, 2)
        await session.end_chapter()
        failed = (await ears.hear(RequestFailed)).request
        assert session.snapshot.session.is_ending
        await session.retry(failed.id)
        await session.wait_idle()
        assert session.snapshot.session.state is SessionState.ENDED


async def test_a_summary_that_the_gm_stopped_is_made_with_the_next_one_and_not_by_itself_before(
    store: PostgresStore,
) -> None:
    model = GatedModel(when=is_summary)
    async with chapter(store, model, chunk_size=2, backoff=0.001) as session, listening(session) as ears:
        for text in ("One", "Two"):
            await done(session, await session.submit_prompt(Slot.RED, text))
        started = await ears.hear(CallStarted, lambda notification: notification.agent_id == 8)
        await session.cancel(started.request.id)
        failed = (await ears.hear(RequestFailed)).request
        assert failed.retry_after is None
        model.gate.set()
        await done(session, await session.submit_prompt(Slot.RED, "Three"))
        assert session.snapshot.session.state is SessionState.ACTIVE
        assert [request.state for request in session.snapshot.requests] == [RequestState.FAILED]
        await done(session, await session.submit_prompt(Slot.RED, "Four"))
        await session.wait_idle()
        deltas = [(block.first, block.last) for block in await store.blocks(session.id, after=0)]
        assert deltas == [(1, 2), (3, 4)]


async def test_memory_reaches_the_next_prompt(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=1) as session:
        await play(session, 2)
        [*_, block] = [block for block in await store.blocks(session.id) if block.last == 1]
        asked = [call for call in model.calls if call.schema is None][-1]
        sent = "\n".join(message.content for message in asked.messages)
        assert str(block.payload["memory_type"]) in sent


async def test_our_own_limit_of_calls_per_minute_holds_and_a_waiting_call_can_be_stopped(
    store: PostgresStore,
) -> None:
    # Of a profile of its own: the tests share a database, in which the windows of a profile share its rates.
    character = replace(CHOICES[AgentRole.CHARACTER], requests_per_minute=1, profile="one at a time")
    choices = ModelAssignments({**CHOICES, AgentRole.CHARACTER: character})
    model = Recorder()
    async with chapter(store, model, choices=choices) as session, listening(session) as ears:
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        second = await session.submit_prompt(Slot.RED, "Two")
        await ears.hear(CallStarted, lambda notification: notification.request.id == second)
        await asyncio.sleep(0)
        assert len(model.calls) == 1
        await session.cancel(second)
        assert (await session.wait(second)).error_code is ErrorCode.LLM_CANCELLED


async def test_a_character_with_a_choice_of_its_own_has_its_model_and_limit(
    store: PostgresStore,
) -> None:
    slow = replace(CHOICES[AgentRole.CHARACTER], requests_per_minute=1, profile="slow")
    yellow = replace(CHOICES[AgentRole.CHARACTER], model="yellows-own", max_output_tokens=321)
    choices = ModelAssignments({**CHOICES, AgentRole.CHARACTER: slow}, {Slot.YELLOW: yellow})
    model = Recorder()
    async with chapter(store, model, choices=choices) as session:
        await done(session, await session.submit_prompt(Slot.RED, "One"))
        for text in ("Two", "Three"):  # the limit of the others is used up, and not Yellow's
            await done(session, await session.submit_prompt(Slot.YELLOW, text))
        asked = [(call.model, call.max_output_tokens) for call in model.calls if call.schema is None]
        assert asked == [(slow.model, slow.max_output_tokens), ("yellows-own", 321), ("yellows-own", 321)]
        sent = await engine_on(store, model, choices=choices).preview(session.id, Slot.YELLOW, "Four")
        assert sent.max_input_tokens == yellow.max_input_tokens
