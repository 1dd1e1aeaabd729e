"""A test call of a model: on record in the open chapter, whatever it does then, and nowhere in the story."""

import pytest

from core.domain.errors import ErrorCode, SessionLockedError
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import Artifact, Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.kinds.test_call import TEST_PROMPT, TEST_VERSION
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import TextArrived
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import (
    GatedModel,
    chapter,
    done,
    failing,
    listening,
    play,
    record_test_call,
    scripted,
    set_up,
    window,
)

pytestmark = pytest.mark.anyio


async def stored_tests(session: SessionHandle) -> list[tuple[Request, Artifact]]:
    artifacts = {one.request_id: one for one in await session.reads.artifacts()}
    return [
        (one, artifacts[one.id]) for one in await session.reads.requests() if one.kind is RequestKind.TEST
    ]


async def test_a_test_call_is_on_record_with_what_went_out_and_what_came_back(store: PostgresStore) -> None:
    async with chapter(store) as session:
        before = session.snapshot
        await record_test_call(session)
        assert session.snapshot == before
        [(request, artifact)] = await stored_tests(session)
        assert request.state is RequestState.DONE
        assert (artifact.agent_id, artifact.prompt_version, artifact.error_code) == (1, TEST_VERSION, None)
        assert artifact.output_ref is not None
        texts = await store.calls.contents(session.id, [artifact.input_ref, artifact.output_ref])
        assert all(texts.values())
        parts = from_json(to_json(await read_body(store, session.id))).contents
        assert TEST_PROMPT in [part.text for part in parts]


async def test_a_test_call_that_failed_is_on_record_with_its_error_and_is_over(store: PostgresStore) -> None:
    async with chapter(store) as session:
        before = session.snapshot
        await record_test_call(session, scripted(failing(RequestKind.REPLY, Fault.SERVER_ERROR)))
        [(request, artifact)] = await stored_tests(session)
        assert (request.state, request.error_code) == (RequestState.CANCELLED, ErrorCode.LLM_SERVER_ERROR)
        assert artifact.error_code is ErrorCode.LLM_SERVER_ERROR
        assert session.snapshot == before
    async with window(store, None, session.id) as reopened:
        assert reopened.snapshot.requests == (), "nothing to recover, and nothing to retry"
        await play(reopened, 1)


async def test_a_test_call_waits_for_nothing_and_disturbs_nothing(store: PostgresStore) -> None:
    async with window(store) as session:
        await record_test_call(session)
        assert session.snapshot.session.state is SessionState.DRAFT_TAB1
        await set_up(session)
        await done(session, await session.lock())
        session_id = session.id
    model = GatedModel()
    async with window(store, model, session_id) as session, listening(session) as ears:
        asked = await session.submit_prompt(Slot.RED, "One")
        await ears.hear(TextArrived)
        await record_test_call(session)
        model.gate.set()
        await done(session, asked)
        await play(session, 6)
        assert session.snapshot.session.prompt_index == 7
        assert len(await stored_tests(session)) == 2


async def test_a_window_that_reads_along_stores_no_test_call(store: PostgresStore) -> None:
    async with chapter(store) as session, window(store, None, session.id, label="second") as reader:
        assert reader.is_read_only
        with pytest.raises(SessionLockedError):
            await record_test_call(reader)
        assert await stored_tests(reader) == []


async def test_test_calls_are_exported_and_imported_as_they_are(store: PostgresStore) -> None:
    async with window(store) as session:
        await record_test_call(session)
        await record_test_call(session, scripted(failing(RequestKind.REPLY, Fault.RATE_LIMITED)))
        document = to_json(await read_body(store, session.id))
    copy = SessionId(new_uuid())
    await store.chapters.create(as_new_session(from_json(document), copy))
    async with window(store, None, copy) as imported:
        states = [request.state for request, _ in await stored_tests(imported)]
        assert states == [RequestState.DONE, RequestState.CANCELLED]
