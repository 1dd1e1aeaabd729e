"""A proposal is one call with full provenance, whatever becomes of it, and changes nothing of the chapter."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from core.agents import assist
from core.agents.assist import AssistRequest, Field, Task
from core.agents.role.prompt_file import load_prompt
from core.config.models.assignments import defaults_for
from core.config.models.model_config import PromptStyle
from core.config.sections import ProviderName
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.requests.request import Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from core.storage.changes import Changes
from core.storage.session_store import Lease
from tests.core.values.sessions import waiting as waits
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio
ASKED = AssistRequest(task=Task.CONTINUE, field=Field.WORLD, text="A lighthouse on a rock.", limit=5_000)
ANSWER = "It burns \x1b[31mred[/x]."


@asynccontextmanager
async def chapter(
    *entries: Entry, wait: float = 3_600.0, models: ProviderName = "scripted"
) -> AsyncIterator[SessionHandle]:
    """An empty chapter, on a store in memory."""
    engine = Engine(
        MemoryStore(MemoryDatabase()),
        ScriptedProvider(Script(reply=entries)),
        defaults_for(models),
        label="here",
        play=waits(5.0, background=wait),
    )
    opened = await engine.open(await engine.create())
    try:
        async with asyncio.timeout(60):
            yield opened
    finally:
        await opened.aclose()
        await engine.aclose()


def entry(text: str | None = ANSWER, fault: Fault | None = None, times: int | None = None) -> Entry:
    return Entry(match=ScriptMatch(anywhere="GM_TEXT"), text=text, fault=fault, times=times)


@dataclass
class Watch:
    """Follows a request as the screen does."""

    text: str = ""
    waited: list[Request] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, model: str) -> None:
        self.text = ""
        self.begun.set()

    def add(self, text: str) -> None:
        self.text += text

    def wait(self, request: Request) -> None:
        self.waited.append(request)


async def test_a_proposal_is_streamed_and_on_record_and_the_chapter_is_as_it_was() -> None:
    async with chapter(entry()) as opened:
        before, watch, work = opened.snapshot, Watch(), opened.assist
        made = await work.propose(work.new(ASKED), watch)
        assert made.text == watch.text == "It burns red[/x]."
        assert (opened.snapshot.session, opened.snapshot.requests) == (before.session, ())
        [request] = await opened.reads.requests()
        assert (request.kind, request.state, request.attempts) == (RequestKind.ASSIST, RequestState.DONE, 1)
        [call] = await opened.reads.artifacts()
        assert (call.agent_id, call.prompt_version, call.request_id) == (9, "assist/full@1", request.id)
        body = await read_body(opened._store, opened.id)
        assert from_json(to_json(body)).requests == (request,)


async def test_one_that_failed_is_on_record_and_can_be_tried_again() -> None:
    async with chapter(entry(fault=Fault.REQUEST_ERROR, times=1), entry()) as opened:
        work = opened.assist
        request = work.new(ASKED)
        with pytest.raises(StoryEngineError) as failed:
            await work.propose(request, Watch())
        assert failed.value.code is ErrorCode.LLM_REQUEST_ERROR
        [stored] = await opened.reads.requests()
        assert (stored.state, stored.error_code) == (RequestState.FAILED, ErrorCode.LLM_REQUEST_ERROR)
        await work.propose(request, Watch())
        [stored] = await opened.reads.requests()
        assert (stored.state, stored.error_code, stored.attempts) == (RequestState.DONE, None, 2)
        assert [call.attempt for call in await opened.reads.artifacts()] == [1, 2]


async def test_a_service_that_is_down_is_asked_again_and_the_gm_is_told() -> None:
    async with chapter(entry(fault=Fault.SERVER_ERROR, times=1), entry(), wait=0.001) as opened:
        work, watch = opened.assist, Watch()
        assert (await work.propose(work.new(ASKED), watch)).text == "It burns red[/x]."
        queued, again = watch.waited
        assert (queued.error_code, again.error_code) == (None, ErrorCode.LLM_SERVER_ERROR)


async def test_an_answer_of_no_use_is_a_failed_call_that_is_not_paid_for_again_unasked() -> None:
    async with chapter(entry(text=ASKED.text)) as opened:
        work = opened.assist
        with pytest.raises(StoryEngineError, match="is empty"):
            await work.propose(work.new(ASKED), Watch())
        [call] = await opened.reads.artifacts()
        assert call.error_code is ErrorCode.LLM_ERROR
        assert call.output_ref is not None


async def test_one_that_is_left_is_stopped_and_on_record() -> None:
    async with chapter(entry(fault=Fault.HANG)) as opened:
        work, watch = opened.assist, Watch()
        request = work.new(ASKED)
        waiting = asyncio.create_task(work.propose(request, watch))
        await watch.begun.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        work.leave(request.id)
        await work.aclose()
        [stored] = await opened.reads.requests()
        assert (stored.state, stored.error_code) == (RequestState.CANCELLED, ErrorCode.LLM_CANCELLED)


async def test_one_that_is_left_while_it_is_stored_is_asked_of_no_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with chapter(entry()) as opened:
        work, has_come, goes_on = opened.assist, asyncio.Event(), asyncio.Event()
        store, request = opened._store, work.new(ASKED)
        commit = store.commit

        async def slow(changes: Changes, lease: Lease) -> None:
            has_come.set()
            await goes_on.wait()
            await commit(changes, lease)

        monkeypatch.setattr(store, "commit", slow)
        waiting = asyncio.create_task(work.propose(request, Watch()))
        await has_come.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        work.leave(request.id)
        goes_on.set()
        await work.aclose()
        [stored] = await opened.reads.requests()
        assert (stored.state, stored.attempts) == (RequestState.CANCELLED, 0)


async def test_one_that_is_stopped_can_be_tried_again() -> None:
    async with chapter(entry(fault=Fault.HANG, times=1), entry()) as opened:
        work, watch = opened.assist, Watch()
        request = work.new(ASKED)
        waiting = asyncio.create_task(work.propose(request, watch))
        await watch.begun.wait()
        await work.stop(request.id)
        with pytest.raises(StoryEngineError, match="stopped"):
            await waiting
        assert (await work.propose(request, watch)).text == "It burns red[/x]."


async def test_a_chapter_that_is_closed_leaves_nothing_of_it_in_the_queue() -> None:
    async with chapter(entry(fault=Fault.HANG)) as opened:
        work, watch = opened.assist, Watch()
        waiting = asyncio.create_task(work.propose(work.new(ASKED), watch))
        await watch.begun.wait()
        await opened.aclose()
        with pytest.raises(StoryEngineError):
            await waiting
        [stored] = await opened.reads.requests()
        assert stored.state is RequestState.CANCELLED


async def test_nothing_is_stored_for_what_cannot_be_done() -> None:
    async with chapter(entry()) as opened:
        nothing = AssistRequest(task=Task.CONTINUE, field=Field.WORLD, text=" ", limit=5_000)
        with pytest.raises(IllegalCommandError):
            opened.assist.new(nothing)
        assert list(await opened.reads.requests()) == []


async def test_a_request_whose_text_is_no_question_fails_with_a_sentence() -> None:
    async with chapter(entry()) as opened:
        work = opened.assist
        with pytest.raises(StoryEngineError, match="cannot be read"):
            await work.propose(replace(work.new(ASKED), text='{"task":"delete"}'), Watch())
        assert all(call.call == 0 for call in await opened.reads.artifacts()), "no model was asked"


async def test_the_example_of_a_short_prompt_is_no_proposal() -> None:
    prompt = load_prompt(assist.PROMPT, PromptStyle.SMALL)
    assert prompt.example is not None
    async with chapter(entry(text=prompt.example[1]), models="local") as opened:
        work = opened.assist
        with pytest.raises(StoryEngineError, match="only repeats an example"):
            await work.propose(work.new(ASKED), Watch())
