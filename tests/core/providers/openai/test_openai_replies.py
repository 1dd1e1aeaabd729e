"""The provider `openai` over real HTTP: what is sent, what comes back, what is learned from refusals."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing

import pytest

from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.base import ChatMessage, Completion, TextDelta
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import TINY_SCHEMA, ask, fail, request
from tests.http_faults import (
    DONE,
    FaultServer,
    LastingServer,
    Reply,
    chunk,
    error_reply,
    sse,
    text_reply,
    usage_chunk,
)

pytestmark = pytest.mark.anyio


async def test_deltas_arrive_as_they_are_sent(server: FaultServer, provider: OpenAIProvider) -> None:
    gate = asyncio.Event()
    server.script(Reply((chunk("One"), gate, chunk(" two"), chunk(finish="stop"), usage_chunk(), DONE)))
    async with aclosing(provider.stream(request())) as items:
        assert await anext(items) == TextDelta("One")
        gate.set()
        assert await anext(items) == TextDelta(" two")
        completion = await anext(items)
    assert completion == Completion(finish_reason="stop", model="test-model", usage=Usage(11, 7, 3, 2))


async def test_what_is_sent(server: FaultServer, provider: OpenAIProvider) -> None:
    await ask(provider, request(temperature=0.5, stop=("GM:",)))
    (sent,) = server.requests
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.body == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "You are Mira."},
            {"role": "user", "content": "The door opens."},
        ],
        "max_tokens": 100,
        "temperature": 0.5,
        "stop": ["GM:"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("model", "is_reasoning"),
    [
        ("o1", True),
        ("o3-mini", True),
        ("o4-mini", True),
        ("openai/o4-mini", True),
        ("gpt-5.2", True),
        ("GPT-5-mini", True),
        ("gpt-5-chat-latest", False),
        ("gpt-4o", False),
        ("olmo-2", False),
        ("qwen-o1x", False),
    ],
)
async def test_reasoning_models_are_known_by_name(
    server: FaultServer, provider: OpenAIProvider, model: str, is_reasoning: bool
) -> None:
    await ask(provider, request(model=model, temperature=0.5, stop=("GM:",)))
    (body,) = server.bodies
    assert ("max_completion_tokens" in body) is is_reasoning
    assert ("max_tokens" in body) is not is_reasoning
    assert ("temperature" in body) is not is_reasoning
    assert ("stop" in body) is not is_reasoning


@pytest.mark.parametrize("field", ["stream_options", "temperature", "stop", "max_tokens"])
async def test_a_refused_field_is_left_out_and_remembered(
    server: FaultServer, provider: OpenAIProvider, field: str
) -> None:
    server.refuse(field)
    asked = request(temperature=0.5, stop=("GM:",))
    await ask(provider, asked)
    assert [field in body for body in server.bodies] == [True, False]
    await ask(provider, asked)
    assert field not in server.bodies[2]
    assert len(server.requests) == 3
    if field == "max_tokens":
        assert server.bodies[2]["max_completion_tokens"] == 100


async def test_many_refusals_are_worked_through(server: FaultServer, provider: OpenAIProvider) -> None:
    server.refuse("stream_options", "temperature", "stop", "max_tokens", "response_format")
    await ask(provider, request(temperature=0.5, stop=("GM:",), schema=TINY_SCHEMA))
    assert set(server.bodies[-1]) == {"model", "messages", "max_completion_tokens", "stream"}


async def test_a_refusal_that_names_no_field_is_an_error_at_once(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    server.default = lambda body: error_reply(400, "max_tokens is too large: 100", code="invalid_value")
    await fail(provider, ErrorCode.LLM_REQUEST_ERROR)
    assert len(server.requests) == 1


async def test_what_did_not_help_is_not_remembered(server: FaultServer, provider: OpenAIProvider) -> None:
    refusal = error_reply(400, "unsupported", param="temperature", code="unsupported_parameter")
    server.script(refusal, error_reply(500))
    asked = request(temperature=0.5)
    await fail(provider, ErrorCode.LLM_SERVER_ERROR, asked)
    await ask(provider, asked)
    assert ["temperature" in body for body in server.bodies] == [True, False, True]


async def test_json_is_asked_for_by_schema(server: FaultServer, provider: OpenAIProvider) -> None:
    text, _ = await ask(provider, request(schema=TINY_SCHEMA))
    assert json.loads(text)["memory_type"] == "turn_delta"
    assert server.bodies[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "turn_delta", "strict": True, "schema": TINY_SCHEMA.schema},
    }


async def test_json_falls_back_to_json_object_and_then_to_a_note(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    server.refuse("response_format")
    await ask(provider, request(schema=TINY_SCHEMA))
    kinds = [(body.get("response_format") or {}).get("type") for body in server.bodies]
    assert kinds == ["json_schema", "json_object", None]
    assert '"additionalProperties": false' not in server.bodies[0]["messages"][0]["content"]
    for body in server.bodies[1:]:
        first = body["messages"][0]
        assert first["role"] == "system"
        assert first["content"].startswith("You are Mira.\n\n")
        assert '"additionalProperties": false' in first["content"]
    await ask(provider, request(schema=TINY_SCHEMA))
    assert len(server.requests) == 4


async def test_the_note_stands_alone_without_a_system_message(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    server.refuse("response_format")
    await ask(provider, request(schema=TINY_SCHEMA, messages=(ChatMessage("user", "Go."),)))
    assert [message["role"] for message in server.bodies[-1]["messages"]] == ["system", "user"]


async def test_what_one_model_refuses_another_still_gets(
    server: FaultServer, make: Callable[..., OpenAIProvider]
) -> None:
    provider = make()
    server.refuse("json_schema")
    await ask(provider, request(schema=TINY_SCHEMA))
    await ask(provider, request(schema=TINY_SCHEMA, model="another"))
    kinds = [body["response_format"]["type"] for body in server.bodies]
    assert kinds == ["json_schema", "json_object", "json_schema", "json_object"]


async def test_no_token_counts_are_no_fault(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(text_reply("Hello", usage=False))
    _, completion = await ask(provider)
    assert completion.usage == Usage()


async def test_a_complete_answer_survives_what_goes_wrong_after_it(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    server.script(Reply((chunk("Done."), chunk(finish="stop"), sse("{broken"))))
    text, completion = await ask(provider)
    assert (text, completion.finish_reason) == ("Done.", "stop")


async def test_cut_at_the_cap_is_told_and_not_judged(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(text_reply("Half a sen", finish="length"))
    text, completion = await ask(provider)
    assert (text, completion.finish_reason) == ("Half a sen", "length")


async def test_an_emoji_cut_in_two_arrives_whole(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(Reply((chunk("a\ud83d"), chunk("\ude00b"), chunk("c", finish="stop"), DONE)))
    assert (await ask(provider))[0] == "a\U0001f600bc"


async def test_lone_surrogates_crash_neither_way(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(Reply((chunk("x\udc00\ud800"), chunk(finish="stop"), DONE)))
    assert (await ask(provider, request("so \ud800 it goes")))[0] == "x\udc00\ud800"
    assert server.bodies[0]["messages"][1]["content"] == "so ? it goes"


async def test_cancelling_ends_the_connection(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(Reply((chunk("One"), asyncio.Event())))
    task = asyncio.create_task(ask(provider))
    arrived = await server.arrived()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(arrived.left.wait(), 10)


async def test_closing_the_iterator_ends_the_connection(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    server.script(Reply((chunk("One"), asyncio.Event())))
    items = provider.stream(request())
    await anext(items)
    await items.aclose()
    await asyncio.wait_for(server.requests[0].left.wait(), 10)


async def test_no_call_goes_into_a_connection_that_a_server_on_this_machine_may_be_closing() -> None:
    async with LastingServer() as server:
        provider = OpenAIProvider(base_url=server.base_url, find_key=lambda: None)
        await ask(provider)
        await ask(provider)
        assert server.connections == 2
        await provider.aclose()
