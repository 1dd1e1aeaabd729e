"""Every way in which a model can fail, for every kind of request: what is stored, and that a retry works."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.gateway.call_records import UNKNOWN_CALL
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import (
    CHOICES,
    MATCHES,
    QUICK,
    Recorder,
    chapter,
    create,
    done,
    failing,
    scripted,
    set_up,
    window,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]

CODES = {
    Fault.TIME_OUT: ErrorCode.LLM_TIMEOUT,
    Fault.HANG: ErrorCode.LLM_TIMEOUT,
    Fault.RATE_LIMITED: ErrorCode.LLM_RATE_LIMITED,
    Fault.AUTH: ErrorCode.LLM_AUTH_ERROR,
    Fault.CREDIT_EXHAUSTED: ErrorCode.LLM_CREDIT_EXHAUSTED,
    Fault.SERVER_ERROR: ErrorCode.LLM_SERVER_ERROR,
    Fault.REQUEST_ERROR: ErrorCode.LLM_REQUEST_ERROR,
    Fault.CONTEXT_OVERFLOW: ErrorCode.LLM_CONTEXT_OVERFLOW,
    Fault.CUT: ErrorCode.LLM_SERVER_ERROR,
    Fault.EMPTY: ErrorCode.LLM_ERROR,
    Fault.WHITE_SPACE: ErrorCode.LLM_ERROR,
    Fault.REASONING_ONLY: ErrorCode.LLM_ERROR,
    Fault.TRUNCATED: ErrorCode.LLM_TRUNCATED,
    Fault.CONTENT_FILTERED: ErrorCode.LLM_CONTENT_FILTERED,
    Fault.INVALID_JSON: ErrorCode.LLM_INVALID_JSON,
    Fault.WRONG_SHAPE: ErrorCode.LLM_INVALID_JSON,
    Fault.BLOATED_JSON: ErrorCode.LLM_INVALID_JSON,
}
TWO_CALLS = (Fault.INVALID_JSON, Fault.WRONG_SHAPE, Fault.BLOATED_JSON)
"""The model is shown its error once, so these fail a request only when they come twice."""
TEXT_FAULTS = [fault for fault in CODES if fault not in TWO_CALLS]
JSON_FAULTS = [fault for fault in CODES if fault is not Fault.BLOATED_JSON]


@asynccontextmanager
async def facing(
    store: PostgresStore, kind: RequestKind, fault: Fault, *, chunk_size: int = 7
) -> AsyncIterator[SessionHandle]:
    """Have a session that is set up, whose model fails the first request of this kind."""
    provider = scripted(failing(kind, fault, 2 if fault in TWO_CALLS else 1))
    choices = QUICK if fault is Fault.HANG else CHOICES
    session_id = await create(store, chunk_size)
    async with window(store, provider, session_id, choices=choices) as session:
        await set_up(session)
        yield session


async def play_one(session: SessionHandle) -> None:
    """Lock the chapter, and play a prompt."""
    await done(session, await session.lock())
    await done(session, await session.submit_prompt(Slot.RED, "Who goes there?"))
    await session.wait_idle()


async def assert_failed(store: PostgresStore, request: Request, fault: Fault) -> None:
    """The request failed with its code, and every call of it is on record."""
    assert (request.state, request.error_code) == (RequestState.FAILED, CODES[fault])
    assert request.error_message
    artifacts = await store.calls.artifacts(request.session_id, request_id=request.id)
    assert [artifact.error_code for artifact in artifacts] == [CODES[fault]] * (1 + (fault in TWO_CALLS))
    assert [artifact.call for artifact in artifacts] == [1, 2][: len(artifacts)]
    contents = await store.calls.contents(request.session_id, {artifact.input_ref for artifact in artifacts})
    assert len(contents) >= 1


async def assert_retried(session: SessionHandle, request: Request) -> None:
    again = await session.retry(request.id)
    assert again == request.id
    assert (await done(session, again)).attempts == 2


@pytest.mark.parametrize("fault", JSON_FAULTS)
async def test_a_lock_that_fails_returns_to_the_draft_and_can_be_tried_again(
    store: PostgresStore, fault: Fault
) -> None:
    async with facing(store, RequestKind.LOCK, fault) as session:
        request = await session.wait(await session.lock())
        await assert_failed(store, request, fault)
        stored = await store.load(session.id)
        assert stored.session.state is SessionState.DRAFT_TAB1
        assert not stored.session.tab1_locked
        assert stored.tab1.world == "A sea of glass."
        await assert_retried(session, request)
        assert session.snapshot.session.state is SessionState.ACTIVE


@pytest.mark.parametrize("fault", TEXT_FAULTS)
async def test_a_reply_that_fails_stores_no_event_and_the_text_is_back_in_its_composer(
    store: PostgresStore, fault: Fault
) -> None:
    async with facing(store, RequestKind.REPLY, fault) as session:
        await done(session, await session.lock())
        request = await session.wait(await session.submit_prompt(Slot.ORANGE, "Who goes there?"))
        await assert_failed(store, request, fault)
        stored = await store.load(session.id)
        assert stored.session.prompt_index == 0
        assert stored.session.state is SessionState.ACTIVE
        assert stored.unsent == {Slot.ORANGE: "Who goes there?"}
        assert not await store.log(session.id)
        await assert_retried(session, request)
        assert (await store.log(session.id))[0].text == "Who goes there?"
        assert (await store.load(session.id)).unsent == {}


@pytest.mark.parametrize("fault", [*JSON_FAULTS, Fault.BLOATED_JSON])
async def test_a_summary_that_fails_leaves_the_boundary_and_can_be_tried_again(
    store: PostgresStore, fault: Fault
) -> None:
    async with facing(store, RequestKind.SUMMARY, fault, chunk_size=1) as session:
        await play_one(session)
        [request] = session.snapshot.requests
        await assert_failed(store, request, fault)
        stored = await store.load(session.id)
        assert (stored.session.state, stored.session.boundary) == (SessionState.ACTIVE, 0)
        assert stored.session.prompt_index == 1
        await assert_retried(session, request)
        assert session.snapshot.session.boundary == 1


@pytest.mark.parametrize("fault", TEXT_FAULTS)
async def test_a_narrative_that_fails_leaves_earlier_drafts_and_can_be_tried_again(
    store: PostgresStore, fault: Fault
) -> None:
    async with facing(store, RequestKind.NARRATIVE, fault, chunk_size=1) as session:
        await play_one(session)
        await session.end_chapter()
        request = await session.wait(await session.build_narrative())
        await assert_failed(store, request, fault)
        assert (await store.load(session.id)).session.state is SessionState.ENDED
        assert not await store.drafts(session.id)
        await assert_retried(session, request)
        [draft] = await store.drafts(session.id)
        assert draft.request_id == request.id


@pytest.mark.parametrize("kind", MATCHES)
async def test_control_characters_in_an_answer_are_gone_before_it_is_stored(
    store: PostgresStore, kind: RequestKind
) -> None:
    async with facing(store, kind, Fault.CONTROL_CHARACTERS, chunk_size=1) as session:
        await play_one(session)
        await session.end_chapter()
        await done(session, await session.build_narrative())
        texts = [event.text for event in await store.log(session.id)]
        texts += [draft.text for draft in await store.drafts(session.id)]
        texts += [str(block.payload) for block in await store.blocks(session.id)]
        assert not any(character in text for text in texts for character in "\x00\x07\x08\x1b\x9b\u202e")


async def test_a_prompt_that_cannot_be_made_to_fit_fails_before_any_call_and_is_on_record(
    store: PostgresStore,
) -> None:
    tiny = replace(CHOICES[AgentRole.CHARACTER], max_input_tokens=50)
    model = Recorder()
    async with chapter(
        store, model, choices=ModelAssignments({**CHOICES, AgentRole.CHARACTER: tiny})
    ) as session:
        request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.LLM_CONTEXT_OVERFLOW)
        assert session.snapshot.unsent == {Slot.RED: "One"}
        assert model.calls == []
        [artifact] = await store.calls.artifacts(session.id, request_id=request.id)
        assert artifact.error_code is ErrorCode.LLM_CONTEXT_OVERFLOW
        assert (artifact.attempt, artifact.call, artifact.agent_id) == (1, UNKNOWN_CALL, Slot.RED)


async def test_an_error_after_the_call_keeps_its_code_and_what_was_paid_for(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def does_not_fit(*_: object) -> object:
        raise StoryEngineError(ErrorCode.LLM_CONTEXT_OVERFLOW)

    monkeypatch.setattr("core.engine.kinds.json_answer.repair_context", does_not_fit)
    async with facing(store, RequestKind.LOCK, Fault.INVALID_JSON) as session:
        request = await session.wait(await session.lock())
        assert request.error_code is ErrorCode.LLM_CONTEXT_OVERFLOW
        [artifact] = await store.calls.artifacts(session.id, request_id=request.id)
        assert (artifact.call, artifact.output_ref is not None) == (1, True)


async def test_a_prompt_that_fails_by_a_bug_comes_back_and_is_on_record(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_a_bug(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr("core.agents.character.strip_speaker_name", has_a_bug)
    async with chapter(store) as session:
        request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.LLM_ERROR)
        assert session.snapshot.unsent == {Slot.RED: "One"}
        [artifact] = await store.calls.artifacts(session.id, request_id=request.id)
        assert (artifact.error_code, artifact.call) == (ErrorCode.LLM_ERROR, 1)
        assert artifact.output_ref is not None, "what was paid for is on record"
        assert "ZeroDivision" not in artifact.error_message
