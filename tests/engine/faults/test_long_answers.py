"""An answer far beyond its cap is a failure: it is cut off at its bound, and the connection is closed."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import LEAST_ANSWER
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.openai.provider import OpenAIProvider
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, ScriptMatch
from db.store import PostgresStore
from tests.engine.faults.fault_plan import facing
from tests.engine.faults.test_model_faults import kind_of
from tests.engine.windows import CHOICES, MATCHES, PATIENCE, scripted
from tests.http_faults import Body, FaultServer, Reply, chunk, error_reply, valid_reply

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]

SHORT = ModelAssignments({role: replace(choice, max_output_tokens=500) for role, choice in CHOICES.items()})
BOUND = 5_000
"""Ten characters for each of 500 tokens."""


def wanted(request: ModelRequest) -> RequestKind:
    if request.schema is not None:
        is_lock = request.schema.name == "world_chapter_lock"
        return RequestKind.LOCK if is_lock else RequestKind.SUMMARY
    is_narrative = request.model == CHOICES[AgentRole.NARRATIVE].model
    return RequestKind.NARRATIVE if is_narrative else RequestKind.REPLY


class Endless(ScriptedProvider):
    """Answers without end where one kind is asked for, and well otherwise."""

    def __init__(self, kind: RequestKind) -> None:
        super().__init__()
        self._kind = kind
        self.is_closed = False
        self.sent = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        if wanted(request) is not self._kind:
            async for item in super().stream(request):
                yield item
            return
        try:
            for piece in repeat("word " * 100):
                self.sent += len(piece)
                yield TextDelta(piece)
        finally:
            self.is_closed = True


@pytest.mark.parametrize("kind", MATCHES)
async def test_an_answer_beyond_its_bound_is_cut_off_while_it_streams_and_fails(
    store: PostgresStore, kind: RequestKind
) -> None:
    model = Endless(kind)
    async with facing(store, kind, model, choices=SHORT) as row:
        before = row.session.snapshot.session
        request = await row.ask()
        assert request.error_code is ErrorCode.LLM_TRUNCATED
        assert "MAX_OUTPUT_TOKENS" in request.error_message
        assert model.is_closed
        assert model.sent <= BOUND + 500
        [artifact] = await store.calls.artifacts(row.session.id, request_id=request.id)
        assert artifact.error_code is ErrorCode.LLM_TRUNCATED
        assert artifact.output_ref is not None
        [kept] = (await store.calls.contents(row.session.id, [artifact.output_ref])).values()
        assert kept == ("word " * 1_000)[:BOUND]
        after = row.session.snapshot.session
        if kind is RequestKind.REPLY:
            assert (after.state, after.prompt_index) == (SessionState.ACTIVE, before.prompt_index)


async def test_an_answer_of_exactly_its_bound_is_taken(store: PostgresStore) -> None:
    model = scripted(Entry(match=ScriptMatch.model_validate(MATCHES[RequestKind.REPLY]), text="a" * BOUND))
    async with facing(store, RequestKind.REPLY, model, choices=SHORT) as row:
        assert (await row.ask()).error_code is None
        [_, reply] = await store.log(row.session.id)
        assert len(reply.text) == BOUND


def test_a_very_small_cap_still_leaves_room_for_words_of_many_letters() -> None:
    tiny = replace(CHOICES[AgentRole.CHARACTER], max_output_tokens=8)
    assert tiny.max_answer_characters == LEAST_ANSWER


def _flood(body: Body) -> Reply:
    return Reply(repeat(chunk("word " * 100))) if kind_of(body) is RequestKind.REPLY else valid_reply(body)


def _one_line(body: Body) -> Reply:
    return Reply(repeat(b"x" * 65_536)) if kind_of(body) is RequestKind.REPLY else valid_reply(body)


def _endless_error(body: Body) -> Reply:
    if kind_of(body) is not RequestKind.REPLY:
        return valid_reply(body)
    return replace(error_reply(500), steps=repeat(b"so\nmany\nlines\n" * 1_000))


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (_flood, ErrorCode.LLM_TRUNCATED),
        (_one_line, ErrorCode.LLM_SERVER_ERROR),
        (_endless_error, ErrorCode.LLM_SERVER_ERROR),
    ],
)
async def test_the_connection_to_a_service_that_does_not_stop_is_closed(
    store: PostgresStore, tmp_path: Path, answers: Callable[[Body], Reply], code: ErrorCode
) -> None:
    async with FaultServer() as server:
        server.default = answers
        model = OpenAIProvider(base_url=server.base_url, find_key=lambda: SecretStr("sk-test"))
        async with facing(store, RequestKind.REPLY, model, choices=SHORT) as row:
            request = await row.ask()
            assert request.error_code is code
            async with asyncio.timeout(PATIENCE):
                await server.requests[-1].left.wait()
        await model.aclose()
