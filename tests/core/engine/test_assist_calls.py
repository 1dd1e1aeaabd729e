"""A proposal is one call with full provenance, whatever becomes of it, and changes nothing of the chapter."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.agents.assist import Asked, Field, Task
from core.config.models import defaults_for
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.engine.assist import Assist
from core.engine.engine import Engine
from core.engine.session_handle import SessionHandle
from core.exchange.session_export import from_json, read_body, to_json
from core.gateway.model_gateway import Cancellation
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from tests.store.memory_store import MemoryDatabase, MemoryStore

pytestmark = pytest.mark.anyio
ASKED = Asked(task=Task.CONTINUE, field=Field.WORLD, text="A lighthouse on a rock.", limit=5_000)
ANSWER = "It burns \x1b[31mred[/x]."


@asynccontextmanager
async def chapter(*entries: Entry) -> AsyncIterator[SessionHandle]:
    """An empty chapter, on a store in memory."""
    engine = Engine(
        MemoryStore(MemoryDatabase()),
        ScriptedProvider(Script(reply=entries)),
        defaults_for("scripted"),
        label="here",
    )
    opened = await engine.open(await engine.create())
    try:
        async with asyncio.timeout(60):
            yield opened
    finally:
        await opened.aclose()
        await engine.aclose()


def entry(text: str | None = ANSWER, fault: Fault | None = None, times: int | None = None) -> Entry:
    return Entry(match=ScriptMatch(last="GM_TEXT"), text=text, fault=fault, times=times)


def help_of(opened: SessionHandle) -> Assist:
    assert opened.assist is not None
    return opened.assist


async def test_a_proposal_is_streamed_and_on_record_and_the_chapter_is_as_it_was() -> None:
    async with chapter(entry()) as opened:
        before, streamed = opened.snapshot, list[str]()
        made = await help_of(opened).propose(help_of(opened).new(), ASKED, Cancellation(), streamed.append)
        assert made.text == "".join(streamed) == "It burns red[/x]."
        assert opened.snapshot == before
        [request] = await opened.requests()
        assert (request.kind, request.state, request.attempts) == (RequestKind.ASSIST, RequestState.DONE, 1)
        [call] = await opened.artifacts()
        assert (call.agent_id, call.prompt_version, call.request_id) == (9, "assist/full@1", request.id)
        body = await read_body(opened._store, opened.id)
        assert from_json(to_json(body)).requests == (request,)


async def test_one_that_failed_is_on_record_and_can_be_tried_again() -> None:
    async with chapter(entry(fault=Fault.SERVER_ERROR, times=1), entry()) as opened:
        work = help_of(opened)
        first = work.new()
        with pytest.raises(StoryEngineError) as failed:
            await work.propose(first, ASKED, Cancellation(), lambda _: None)
        assert failed.value.code is ErrorCode.LLM_SERVER_ERROR
        [request] = await opened.requests()
        assert (request.state, request.error_code) == (RequestState.CANCELLED, ErrorCode.LLM_SERVER_ERROR)
        await work.propose(work.new(first), ASKED, Cancellation(), lambda _: None)
        [request] = await opened.requests()
        assert (request.state, request.error_code, request.attempts) == (RequestState.DONE, None, 2)
        assert [call.attempt for call in await opened.artifacts()] == [1, 2]


async def test_an_answer_of_no_use_is_a_failed_call() -> None:
    async with chapter(entry(text=ASKED.text)) as opened:
        with pytest.raises(StoryEngineError, match="is empty"):
            await help_of(opened).propose(help_of(opened).new(), ASKED, Cancellation(), lambda _: None)
        [call] = await opened.artifacts()
        assert call.error_code is ErrorCode.LLM_ERROR
        assert call.output_ref is not None


async def test_one_that_is_stopped_is_on_record_even_when_nobody_waits_for_it() -> None:
    async with chapter(entry(fault=Fault.HANG)) as opened:
        begun, stop = asyncio.Event(), Cancellation()
        attach = stop.attach

        def attached(task: asyncio.Task[None] | None) -> None:
            attach(task)
            begun.set()

        stop.attach = attached  # type: ignore[method-assign]
        work = help_of(opened)
        waiting = asyncio.create_task(work.propose(work.new(), ASKED, stop, lambda _: None))
        await begun.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        assert list(await opened.requests()) == []
        await work.aclose()
        [request] = await opened.requests()
        assert (request.state, request.error_code) == (RequestState.CANCELLED, ErrorCode.LLM_CANCELLED)


async def test_nothing_is_sent_for_what_cannot_be_done() -> None:
    async with chapter(entry()) as opened:
        nothing = Asked(task=Task.CONTINUE, field=Field.WORLD, text=" ", limit=5_000)
        with pytest.raises(IllegalCommandError):
            await help_of(opened).propose(help_of(opened).new(), nothing, Cancellation(), lambda _: None)
        assert list(await opened.artifacts()) == []
        assert list(await opened.requests()) == []
