"""How long work took last time is read from the provenance: whole work of this agent and model, no guess."""

from typing import Any

import pytest

from core.domain.errors import ErrorCode
from core.domain.ids import ArtifactId, RequestId, SessionId, new_uuid
from core.domain.requests.request import Artifact
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.engine.session.session_reader import last_duration
from core.providers.scripted.script import Entry, ScriptMatch
from db.store import PostgresStore
from tests.core.values.sessions import NOW
from tests.engine.windows import MATCHES, PATIENCE, chapter, scripted, window

pytestmark = pytest.mark.anyio

FIRST, SECOND = RequestId(new_uuid()), RequestId(new_uuid())


def call(request: RequestId, seconds: float | None, **values: Any) -> Artifact:
    made = {"attempt": 1, "call": 1, "agent_id": 0, "model": "small", "error_code": None, **values}
    return Artifact(
        id=ArtifactId(new_uuid()),
        session_id=SessionId(new_uuid()),
        request_id=request,
        provider="local",
        prompt_version="world_lock/small@1",
        input_hash="0" * 64,
        input_ref="1" * 64,
        output_ref=None,
        total_ms=None if seconds is None else round(seconds * 1000),
        created_at=NOW,
        **made,
    )


def test_the_newest_whole_work_counts_with_all_its_calls() -> None:
    calls = [call(FIRST, 90), call(SECOND, 20, error_code=ErrorCode.LLM_INVALID_JSON), call(SECOND, 15)]
    assert last_duration(calls, 0, "small") == 35
    assert last_duration([*calls, call(FIRST, 1, agent_id=8)], 0, "small") == 35


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [call(FIRST, 20, model="another")],
        [call(FIRST, 20, agent_id=1)],
        [call(FIRST, None)],
        [call(FIRST, 20, error_code=ErrorCode.LLM_CANCELLED)],
        [call(FIRST, 120, error_code=ErrorCode.LLM_TIMEOUT), call(FIRST, 20, attempt=2)],
    ],
)
def test_what_failed_or_was_another_s_tells_nothing(calls: list[Artifact]) -> None:
    assert last_duration(calls, 0, "small") is None


async def test_a_new_chapter_knows_it_of_the_one_played_before(store: PostgresStore) -> None:
    async with chapter(store) as before:
        [made] = await store.calls.artifacts(before.id, agent_id=0)
        assert await store.calls.artifacts(before.id, agent_id=8) == []
        *_, last = await store.calls.artifacts(before.id)
        assert await store.calls.artifacts(before.id, newest=1) == [last]
    async with window(store) as fresh:
        assert await fresh.reads.last_duration(0, made.model) is not None
        assert await fresh.reads.last_duration(0, "nothing is called so") is None


async def test_how_long_the_first_word_took_and_how_long_the_whole_is_on_record(store: PostgresStore) -> None:
    slow = Entry(
        match=ScriptMatch.model_validate(MATCHES[RequestKind.REPLY]), text="I wait.", first_token=0.06
    )
    async with chapter(store, scripted(slow)) as session:
        request = await session.wait(await session.submit_prompt(Slot.RED, "One"))
        [artifact] = await store.calls.artifacts(session.id, request_id=request.id)
    assert artifact.first_token_ms is not None
    assert artifact.total_ms is not None
    assert 60 <= artifact.first_token_ms <= artifact.total_ms < PATIENCE * 1_000
