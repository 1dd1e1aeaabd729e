"""Vectors by any service with OpenAI's protocol, over real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.embedding.base import SHORTER, Embedding
from core.providers.embedding.service import ServiceEmbedder
from core.providers.openai import bounded_body
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import GENEROUS, KEY
from tests.http_faults import CUT, Body, FaultServer, Reply, error_reply

pytestmark = pytest.mark.anyio
HEADER = "canary-header-77aa"


def answer(*vectors: object, **more: object) -> Reply:
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    body = {"object": "list", "data": data, "model": "embed-1", "usage": {"prompt_tokens": 5}, **more}
    return Reply((json.dumps(body).encode(),), headers={"Content-Type": "application/json"})


def lengths(body: Body) -> Reply:
    """A vector that tells how long each text was."""
    return answer(*([len(text), 1.0] for text in body["input"]))


@pytest.fixture
async def embedder(server: FaultServer) -> AsyncIterator[ServiceEmbedder]:
    server.default = lengths
    client = OpenAIProvider(
        base_url=server.base_url,
        find_key=lambda: SecretStr(KEY),
        headers={"X-Title": SecretStr(HEADER)},
    )
    made = ServiceEmbedder(client, "embed-1", "work")
    yield made
    await made.aclose()


async def embed(embedder: ServiceEmbedder, *texts: str) -> Embedding:
    return await embedder.embed(texts, GENEROUS)


async def fail(embedder: ServiceEmbedder, code: ErrorCode, *texts: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await embed(embedder, *(texts or ("a text",)))
    assert caught.value.code is code, caught.value
    for part in (str(caught.value), caught.value.hint, repr(caught.value.__cause__)):
        assert KEY not in part
        assert HEADER not in part
    return caught.value


async def test_the_texts_go_to_the_account_with_its_key_and_headers(
    server: FaultServer, embedder: ServiceEmbedder
) -> None:
    made = await embed(embedder, "one", "three")
    [sent] = server.requests
    assert sent.path == "/v1/embeddings"
    assert sent.body == {"input": ["one", "three"], "model": "embed-1", "encoding_format": "float"}
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["x-title"] == HEADER
    assert made.vectors[0] == pytest.approx((0.9487, 0.3162), abs=1e-4)
    assert (made.model, made.usage.input_tokens) == ("embed-1", 5)
    assert (embedder.model, embedder.name, embedder.base_url) == ("work:embed-1", "openai", None)


async def test_a_text_that_the_model_finds_too_long_is_cut_shorter_and_shorter(
    server: FaultServer, embedder: ServiceEmbedder
) -> None:
    def limited(body: Body) -> Reply:
        if max(map(len, body["input"])) > SHORTER[-1]:
            return error_reply(500, "input (602 tokens) is too large to process. increase the batch size")
        return lengths(body)

    server.default = limited
    await embed(embedder, "漢" * 600, "short")
    assert [[len(text) for text in body["input"]] for body in server.bodies] == [[600, 5], [500, 5], [160, 5]]
    server.default = lambda body: error_reply(400, "maximum context length is 8 tokens")
    await fail(embedder, ErrorCode.LLM_CONTEXT_OVERFLOW)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (error_reply(401, f"wrong key {KEY}"), ErrorCode.LLM_AUTH_ERROR),
        (error_reply(400, f"header {HEADER} is bad"), ErrorCode.LLM_REQUEST_ERROR),
        (error_reply(404, "no such model"), ErrorCode.LLM_REQUEST_ERROR),
        (error_reply(429, "slow down", headers={"Retry-After": "2"}), ErrorCode.LLM_RATE_LIMITED),
        (error_reply(402, "no credit"), ErrorCode.LLM_CREDIT_EXHAUSTED),
        (error_reply(503), ErrorCode.LLM_SERVER_ERROR),
        (Reply((b'{"data": [', CUT)), ErrorCode.LLM_SERVER_ERROR),
        (Reply((b"<html>",), headers={"Content-Type": "text/html"}), ErrorCode.LLM_SERVER_ERROR),
        (answer([1], [1]), ErrorCode.LLM_SERVER_ERROR),
        (answer(["1"]), ErrorCode.LLM_SERVER_ERROR),
        (answer("AACAPw=="), ErrorCode.LLM_SERVER_ERROR),
        (Reply((), 302, {"Location": "http://127.0.0.1:9/v1"}), ErrorCode.LLM_REQUEST_ERROR),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_each_fault_has_its_code_and_shows_no_secret(
    server: FaultServer, embedder: ServiceEmbedder, reply: Reply, code: ErrorCode
) -> None:
    server.script(reply)
    error = await fail(embedder, code)
    assert "nothing" in error.message
    assert error.retry_after == (2.0 if code is ErrorCode.LLM_RATE_LIMITED else None)


async def test_an_answer_without_end_is_given_up(
    server: FaultServer, embedder: ServiceEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line breaks within it make it no shorter, as they would a stream."""
    monkeypatch.setattr(bounded_body, "LONGEST_VECTORS", 100_000)
    endless = Reply((b"[1,\n" * 5_000 for _ in range(1_000)), headers={"Content-Type": "application/json"})
    server.script(endless)
    assert "more at once than any answer has" in (await fail(embedder, ErrorCode.LLM_SERVER_ERROR)).message
    await asyncio.wait_for(server.requests[0].left.wait(), GENEROUS)


async def test_a_service_that_does_not_answer_is_a_time_out(
    server: FaultServer, embedder: ServiceEmbedder
) -> None:
    await embed(embedder, "the SDK is loaded by now")
    server.script(Reply((asyncio.Event(),)))
    with pytest.raises(ProviderError) as caught:
        await embedder.embed(["a text"], 0.1)
    assert caught.value.code is ErrorCode.LLM_TIMEOUT


async def test_vectors_of_another_length_than_before_are_refused(
    server: FaultServer, embedder: ServiceEmbedder
) -> None:
    await embed(embedder, "one")
    server.script(answer([1, 2, 3]))
    assert "3 numbers, and before of 2" in (await fail(embedder, ErrorCode.LLM_SERVER_ERROR)).message


@pytest.mark.parametrize("count", [0, 65])
async def test_more_texts_than_a_call_may_have_are_a_mistake_of_ours(
    server: FaultServer, embedder: ServiceEmbedder, count: int
) -> None:
    with pytest.raises(ValueError, match="1 to 64 texts"):
        await embed(embedder, *["text"] * count)
    assert not server.requests


async def test_to_be_ready_sends_nothing(server: FaultServer, embedder: ServiceEmbedder) -> None:
    await embedder.start()
    assert not server.requests
