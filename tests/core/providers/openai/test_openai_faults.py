"""The provider `openai` over real HTTP: every fault becomes one of our codes, with a sentence."""

import asyncio
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest
from pydantic import SecretStr

from core.domain.errors import ErrorCode
from core.domain.requests.request import NO_TOKENS, Usage
from core.providers.openai.errors import retry_after_seconds
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import KEY, ask, fail, request
from tests.http_faults import (
    CUT,
    DONE,
    FaultServer,
    Reply,
    Step,
    chunk,
    error_reply,
    sse,
    text_reply,
    usage_chunk,
)

pytestmark = pytest.mark.anyio

NOTHING_COUNTED = usage_chunk(prompt=0, completion=0, cached=0, reasoning=0)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (error_reply(401), ErrorCode.LLM_AUTH_ERROR),
        (error_reply(403), ErrorCode.LLM_AUTH_ERROR),
        (error_reply(402), ErrorCode.LLM_CREDIT_EXHAUSTED),
        (error_reply(429, code="insufficient_quota"), ErrorCode.LLM_CREDIT_EXHAUSTED),
        (error_reply(400, "Your credit balance is too low"), ErrorCode.LLM_CREDIT_EXHAUSTED),
        (error_reply(404, code="model_not_found"), ErrorCode.LLM_REQUEST_ERROR),
        (error_reply(400), ErrorCode.LLM_REQUEST_ERROR),
        (error_reply(422), ErrorCode.LLM_REQUEST_ERROR),
        (error_reply(400, code="context_length_exceeded"), ErrorCode.LLM_CONTEXT_OVERFLOW),
        (error_reply(400, kind="exceed_context_size_error"), ErrorCode.LLM_CONTEXT_OVERFLOW),
        (
            error_reply(400, "This model's maximum context length is 4096 tokens."),
            ErrorCode.LLM_CONTEXT_OVERFLOW,
        ),
        (error_reply(413), ErrorCode.LLM_CONTEXT_OVERFLOW),
        (error_reply(400, code="content_filter"), ErrorCode.LLM_CONTENT_FILTERED),
        (error_reply(403, "Your input was flagged by moderation"), ErrorCode.LLM_CONTENT_FILTERED),
        (error_reply(408), ErrorCode.LLM_TIMEOUT),
        (error_reply(429, code="rate_limit_exceeded"), ErrorCode.LLM_RATE_LIMITED),
        (error_reply(429, "Request too large for the context window"), ErrorCode.LLM_RATE_LIMITED),
        (error_reply(500), ErrorCode.LLM_SERVER_ERROR),
        (error_reply(503), ErrorCode.LLM_SERVER_ERROR),
        (error_reply(529), ErrorCode.LLM_SERVER_ERROR),
        (error_reply(418), ErrorCode.LLM_ERROR),
        (Reply((b"<html>oops",), 502, {"Content-Type": "text/html"}), ErrorCode.LLM_SERVER_ERROR),
        (Reply((b'{"error": "plain words"}',), 400), ErrorCode.LLM_REQUEST_ERROR),
        (Reply((b'{"detail": "of FastAPI"}',), 422), ErrorCode.LLM_REQUEST_ERROR),
        (Reply((b"[]",), 500), ErrorCode.LLM_SERVER_ERROR),
        (Reply((b'{"error":', CUT), 500), ErrorCode.LLM_SERVER_ERROR),
        (Reply((CUT,)), ErrorCode.LLM_SERVER_ERROR),
    ],
)
async def test_a_status_becomes_a_code(
    server: FaultServer, provider: OpenAIProvider, reply: Reply, code: ErrorCode
) -> None:
    server.script(reply)
    await fail(provider, code)
    assert len(server.requests) == 1, "the provider never retries by itself"


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"error": {"message": "busy", "code": 429}}, ErrorCode.LLM_RATE_LIMITED),
        ({"error": {"message": "bad gateway", "code": "502"}}, ErrorCode.LLM_SERVER_ERROR),
        ({"error": {"message": "x", "type": "server_error"}}, ErrorCode.LLM_SERVER_ERROR),
        ({"error": {"message": "x", "type": "rate_limit_error"}}, ErrorCode.LLM_RATE_LIMITED),
        ({"error": {"message": "x", "code": "context_length_exceeded"}}, ErrorCode.LLM_CONTEXT_OVERFLOW),
        ({"error": {"message": "x", "code": "insufficient_quota"}}, ErrorCode.LLM_CREDIT_EXHAUSTED),
        ({"error": {"message": "x", "code": "content_filter"}}, ErrorCode.LLM_CONTENT_FILTERED),
        (
            {"object": "error", "message": "context length exceeded", "code": 400},
            ErrorCode.LLM_CONTEXT_OVERFLOW,
        ),
        ({"error": {"message": "the model lost its way"}}, ErrorCode.LLM_ERROR),
        ({"error": "only words"}, ErrorCode.LLM_ERROR),
    ],
)
async def test_an_error_inside_the_stream_becomes_a_code(
    server: FaultServer, provider: OpenAIProvider, payload: object, code: ErrorCode
) -> None:
    server.script(Reply((chunk("Once"), sse(payload), DONE)))
    await fail(provider, code)


@pytest.mark.parametrize(
    "steps",
    [
        (chunk("Once"), CUT),
        (chunk("Once"),),
        (chunk("Once"), DONE),
        (),
        (b"<html>log in first</html>",),
        (chunk("Once"), sse("{not json"), chunk(finish="stop"), DONE),
        (chunk("Once"), b"data: \xff\xfe\n\n", chunk(finish="stop"), DONE),
        (chunk("Once"), sse("42"), chunk(finish="stop"), DONE),
        (chunk("Once"), sse("null"), chunk(finish="stop"), DONE),
        (sse({"choices": "none"}), chunk(finish="stop"), DONE),
        (sse({"choices": {"0": "none"}}), chunk(finish="stop"), DONE),
        (sse({"choices": [None]}), chunk(finish="stop"), DONE),
        (sse({"choices": [{"delta": 7}]}), chunk(finish="stop"), DONE),
        (sse("[" * 100_000), chunk(finish="stop"), DONE),
        (chunk("Once"), chunk(finish="error"), DONE),
    ],
    ids=lambda steps: str(len(steps)),
)
async def test_a_broken_stream_is_no_answer(
    server: FaultServer, provider: OpenAIProvider, steps: tuple[bytes, ...]
) -> None:
    server.script(Reply(steps))
    await fail(provider, ErrorCode.LLM_SERVER_ERROR)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "empty"),
        ((chunk(" \n\t"),), "nothing that can be seen"),
        ((chunk("\u200b \u200d \ufeff"),), "nothing that can be seen"),
        ((chunk("\x1b[2J\x1b]0;t\x07\x00"),), "nothing that can be seen"),
        ((chunk(reasoning_content="Hmm."),), "thought"),
        ((chunk(reasoning="Hmm."), chunk(" ")), "thought"),
        ((chunk("<think>Hmm.</think>\n"),), "thought"),
    ],
)
async def test_a_blank_reply_is_a_failed_call(
    server: FaultServer, provider: OpenAIProvider, steps: tuple[bytes, ...], words: str
) -> None:
    server.script(Reply((*steps, chunk(finish="stop"), usage_chunk(reasoning=0), DONE)))
    error = await fail(provider, ErrorCode.LLM_ERROR)
    assert words in error.message
    assert error.usage == Usage(11, 7, 3, 0)


async def test_thoughts_before_an_answer_are_no_part_of_it(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    pieces = ("<thi", "nk>She knows", " me.</th", "ink>\n\n", "I nod, ", "and <think> no more.")
    server.script(Reply((*map(chunk, pieces), chunk(finish="stop"), DONE)))
    text, _ = await ask(provider)
    assert text == "I nod, and <think> no more."
    server.script(Reply((chunk("<thin"), chunk(finish="stop"), DONE)))
    assert (await ask(provider))[0] == "<thin"


async def test_a_mark_of_a_chat_template_ends_an_answer_that_runs_on(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    pieces = ("assistant", "\n\nI no", "d.<|im_", "end|>\n<|im_", "start|>user\nAnd", " then?")
    server.script(Reply((*map(chunk, pieces), chunk(finish="length"), usage_chunk(), DONE)))
    text, completion = await ask(provider)
    assert (text.strip(), completion.finish_reason) == ("I nod.", "stop")
    assert completion.usage == Usage(11, 7, 3, 2), "what the model ran on to is paid for"


async def test_thinking_up_to_the_cap_is_truncation(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(Reply((chunk(reasoning_content="Hmm."), chunk(finish="length"), DONE)))
    assert "thinking" in (await fail(provider, ErrorCode.LLM_TRUNCATED)).message
    server.script(Reply((chunk(finish="length"), usage_chunk(reasoning=100), DONE)))
    assert "thinking" in (await fail(provider, ErrorCode.LLM_TRUNCATED)).message


async def test_withheld_answers(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(text_reply("Once upon", finish="content_filter"))
    await fail(provider, ErrorCode.LLM_CONTENT_FILTERED)
    refusal = (chunk(refusal="I can"), chunk(refusal="not\x1b[31m."), chunk(finish="stop"), DONE)
    server.script(Reply(refusal))
    assert "“I cannot.”" in (await fail(provider, ErrorCode.LLM_CONTENT_FILTERED)).message


@pytest.mark.parametrize("before", [b"", b": still here\n\n", chunk("", role="assistant"), chunk("Once")])
async def test_silence_is_a_time_out(server: FaultServer, provider: OpenAIProvider, before: bytes) -> None:
    await _warm(server, provider)
    server.script(Reply((before, asyncio.Event())))
    await fail(provider, ErrorCode.LLM_TIMEOUT, request(timeout=0.3))
    await asyncio.wait_for(server.requests[-1].left.wait(), 10)


async def test_keeping_the_line_open_is_not_an_answer(server: FaultServer, provider: OpenAIProvider) -> None:
    await _warm(server, provider)
    server.script(Reply(itertools.cycle((b": ping\n\n", chunk("", role="assistant")))))
    await fail(provider, ErrorCode.LLM_TIMEOUT, request(timeout=0.3))


@pytest.mark.parametrize(
    ("steps", "is_begun"),
    [
        ((chunk(reasoning_content="Hm."), CUT), True),
        ((chunk(reasoning_content="Hm."),), True),
        ((chunk(reasoning_content="Hm."), sse({"error": {"message": "busy", "code": 502}})), True),
        ((chunk("", role="assistant"), CUT), False),
        ((CUT,), False),
    ],
    ids=["cut", "without an end", "an error", "nothing but a role", "nothing"],
)
async def test_a_stream_that_breaks_off_tells_whether_the_model_had_begun(
    steps: tuple[Step, ...], is_begun: bool, server: FaultServer, provider: OpenAIProvider
) -> None:
    server.script(Reply(steps))
    assert (await fail(provider, ErrorCode.LLM_SERVER_ERROR)).is_begun is is_begun


async def test_no_one_there(make: Callable[..., OpenAIProvider]) -> None:
    error = await fail(make("http://127.0.0.1:9/v1"), ErrorCode.LLM_SERVER_ERROR)
    assert "could not be reached" in error.message
    assert error.usage == NO_TOKENS, "nothing was sent, so nothing can have been billed"
    # The address may come from the field beside which this is said, or from the environment.
    assert "F6" in error.hint
    assert "STORYENGINE_BASE_URL may" in error.hint


@pytest.mark.parametrize(
    ("fault", "usage"),
    [(httpx2.ConnectTimeout, NO_TOKENS), (httpx2.ConnectError, NO_TOKENS), (httpx2.ReadTimeout, None)],
)
async def test_only_a_call_that_was_never_sent_has_no_tokens(
    fault: type[httpx2.RequestError],
    usage: Usage | None,
    provider: OpenAIProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(*_: object) -> None:
        raise fault("no answer")

    monkeypatch.setattr("httpx2.AsyncHTTPTransport.handle_async_request", fails)
    code = ErrorCode.LLM_SERVER_ERROR if fault is httpx2.ConnectError else ErrorCode.LLM_TIMEOUT
    assert (await fail(provider, code)).usage == usage


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-3"}, 0.0),
        ({}, None),
    ],
)
async def test_retry_after_is_honoured(
    server: FaultServer, provider: OpenAIProvider, headers: dict[str, str], seconds: float | None
) -> None:
    server.script(error_reply(429, headers=headers))
    assert (await fail(provider, ErrorCode.LLM_RATE_LIMITED)).retry_after == seconds


@pytest.mark.parametrize(("ahead", "seconds"), [(90, 90.0), (-90, 0.0)])
def test_retry_after_as_a_date(ahead: int, seconds: float) -> None:
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    header = format_datetime(now + timedelta(seconds=ahead), usegmt=True)
    assert retry_after_seconds({"retry-after": header}, now) == seconds


@pytest.mark.parametrize(
    "message",
    [
        f"Incorrect API key provided: {KEY}.",
        f"bad header Authorization: Bearer {KEY}",
        "Incorrect API key provided: sk-proj-****************SECRET",
        f'{{"x-api-key": "{KEY}"}}',
    ],
)
@pytest.mark.parametrize("status", [400, 401, 500])
async def test_no_key_in_any_message(
    server: FaultServer, provider: OpenAIProvider, message: str, status: int
) -> None:
    server.script(error_reply(status, message))
    with pytest.raises(Exception) as caught:
        await anext(provider.stream(request()))
    assert "SECRET" not in repr(caught.value) + str(caught.value)
    server.script(Reply((sse({"error": {"message": message}}),)))
    await fail(provider, ErrorCode.LLM_ERROR)


async def test_a_key_of_any_shape_is_taken_out(
    server: FaultServer, make: Callable[..., OpenAIProvider]
) -> None:
    server.script(error_reply(400, "what is 7SECRET7 for?"))
    error = await fail(make(find_key=lambda: SecretStr("7SECRET7")), ErrorCode.LLM_REQUEST_ERROR)
    assert "what is [key] for?" in error.message


async def test_tokens_that_a_failed_call_cost_are_told(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(Reply((chunk("Once"), usage_chunk(), CUT)))
    assert (await fail(provider, ErrorCode.LLM_SERVER_ERROR)).usage == Usage(11, 7, 3, 2)


@pytest.mark.parametrize(
    "counts", [(usage_chunk(), NOTHING_COUNTED), (NOTHING_COUNTED,)], ids=["behind", "alone"]
)
async def test_zeros_are_no_count_of_tokens(
    server: FaultServer, provider: OpenAIProvider, counts: tuple[bytes, ...]
) -> None:
    server.script(Reply((chunk("Once."), chunk(finish="stop"), *counts, DONE)))
    _, completion = await ask(provider)
    assert completion.usage == (Usage(11, 7, 3, 2) if len(counts) == 2 else Usage())


async def test_tokens_of_the_input_are_kept_that_are_counted_at_the_beginning_alone(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    first, last = usage_chunk(completion=1, reasoning=0), usage_chunk(prompt=0, cached=0)
    server.script(Reply((first, chunk("Once."), chunk(finish="stop"), last, DONE)))
    _, completion = await ask(provider)
    assert completion.usage == Usage(11, 7, 3, 2)


async def test_what_the_service_said_is_quoted_clean_and_short(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    server.script(error_reply(400, "no\x1b[2J such\nmodel " + "x" * 5_000))
    message = (await fail(provider, ErrorCode.LLM_REQUEST_ERROR)).message
    assert "“no such model xxx" in message
    assert len(message) < 500


async def test_a_refused_key_is_looked_for_again(
    server: FaultServer, make: Callable[..., OpenAIProvider]
) -> None:
    keys = iter([SecretStr("old"), SecretStr("new")])
    provider = make(find_key=lambda: next(keys))
    server.script(error_reply(401))
    await fail(provider, ErrorCode.LLM_AUTH_ERROR)
    await _warm(server, provider)
    assert [sent.headers["authorization"] for sent in server.requests] == ["Bearer old", "Bearer new"]


async def test_a_key_is_not_looked_for_again_because_the_service_is_busy(
    server: FaultServer, make: Callable[..., OpenAIProvider]
) -> None:
    keys = iter([SecretStr("old"), SecretStr("new")])
    provider = make(find_key=lambda: next(keys))
    server.script(error_reply(500))
    await fail(provider, ErrorCode.LLM_SERVER_ERROR)
    await _warm(server, provider)
    assert [sent.headers["authorization"] for sent in server.requests] == ["Bearer old", "Bearer old"]


async def test_no_key_where_one_is_wanted_is_said(
    server: FaultServer, make: Callable[..., OpenAIProvider]
) -> None:
    server.script(error_reply(401))
    assert "no key is set" in (await fail(make(find_key=lambda: None), ErrorCode.LLM_AUTH_ERROR)).message


@pytest.mark.parametrize("key", ["sk-é-SECRET", "two words SECRET", "sk\nX-Evil: SECRET"])
async def test_a_key_that_is_none_is_not_sent(
    server: FaultServer, make: Callable[..., OpenAIProvider], key: str
) -> None:
    await fail(make(find_key=lambda: SecretStr(key)), ErrorCode.LLM_AUTH_ERROR)
    assert not server.requests


async def _warm(server: FaultServer, provider: OpenAIProvider) -> None:
    """Have the SDK imported and the client made, so that a short time-out measures the server alone."""
    server.script(text_reply("ready"))
    async for _ in provider.stream(request()):
        pass
