"""Long texts: what is not in memory yet is summarised before its chunk is full, and the chapter goes on."""

from dataclasses import replace

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import CHOICES, Recorder, chapter, done, failing, is_summary, scripted

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]

NARROW = ModelAssignments(
    {**CHOICES, AgentRole.CHARACTER: replace(CHOICES[AgentRole.CHARACTER], max_input_tokens=24_000)}
)
LONG = "Go on, and tell me more. " * 780
"""Nearly 20,000 characters: five of these are more than the cap."""


async def test_prompts_of_the_allowed_length_are_summarised_early_and_the_chapter_goes_on(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, choices=NARROW) as session:
        for number in range(1, 17):
            await done(session, await session.submit_prompt(Slot.RED, f"{number} {LONG}"))
        await session.end_chapter()
        await session.wait_idle()
        assert session.snapshot.session.state is SessionState.ENDED
        spans = [(block.first, block.last) for block in await store.blocks(session.id, after=0)]
        assert len(spans) > 3
        assert all((first - 1) // 7 == (last - 1) // 7 for first, last in spans)
        chunks = [str(call.messages[-1].content) for call in model.calls if is_summary(call)]
        assert all(any(f"{number}) {number} Go on" in chunk for chunk in chunks) for number in range(1, 17))
        left_out = [line for one in await store.calls.artifacts(session.id) for line in one.left_out]
        assert not [line for line in left_out if "not yet in memory" in line]


async def test_a_prompt_goes_with_shortened_texts_where_the_early_summary_fails(store: PostgresStore) -> None:
    provider = scripted(failing(RequestKind.SUMMARY, Fault.SERVER_ERROR, times=None))
    async with chapter(store, provider, choices=NARROW, backoff=3600) as session:
        for number in range(1, 9):
            await done(session, await session.submit_prompt(Slot.RED, f"{number} {LONG}"))
        await session.wait_idle()
        assert (session.snapshot.session.prompt_index, session.snapshot.session.boundary) == (8, 0)
        [failed] = session.snapshot.requests
        assert failed.error_code is ErrorCode.LLM_SERVER_ERROR
        summaries = await store.calls.artifacts(session.id, agent_id=8)
        assert {one.request_id for one in summaries} == {failed.id}, "the same one is tried again"
        newest = (await store.calls.artifacts(session.id, agent_id=1))[-1]
        assert any("not yet in memory" in line for line in newest.left_out)
    async with chapter(store, choices=NARROW) as other:
        await done(other, await other.submit_prompt(Slot.RED, "One"))
        assert not [one for one in await store.calls.requests(other.id) if one.kind is RequestKind.SUMMARY]


async def test_an_early_summary_that_failed_can_be_tried_again_by_hand(store: PostgresStore) -> None:
    provider = scripted(failing(RequestKind.SUMMARY, Fault.SERVER_ERROR, times=1))
    async with chapter(store, provider, choices=NARROW, backoff=3600) as session:
        for number in range(1, 6):
            await done(session, await session.submit_prompt(Slot.RED, f"{number} {LONG}"))
        await session.wait_idle()
        [failed] = session.snapshot.requests
        await session.retry(failed.id)
        await session.wait_idle()
        assert session.snapshot.session.boundary == 5
        assert session.snapshot.requests == ()
