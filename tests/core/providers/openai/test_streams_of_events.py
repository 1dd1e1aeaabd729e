"""Whatever else a stream of events holds, the answer in it arrives, and its tokens are counted."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal

import pytest

from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.openai.bounded_body import DataLines
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import ask, fail
from tests.core.providers.openai.test_bounded_body import Pieces
from tests.http_faults import DONE, FaultServer, Reply, chunk, sse, usage_chunk

pytestmark = pytest.mark.anyio

FIRST, SECOND, END = chunk("I "), chunk("nod."), chunk(finish="stop")
STREAMS = {
    "carriage returns": tuple(part.replace(b"\n", b"\r\n") for part in (FIRST, SECOND, END, DONE)),
    "a comment": (b": processing\n\n", FIRST, b":\n\n", SECOND, END, DONE),
    "empty data": (FIRST, b"data:\n\n", SECOND, b"data: \r\n\r\n", END, DONE),
    "an event without data": (FIRST, b"event: ping\n\n", SECOND, END, DONE),
    "an event with other data": (FIRST, b'event: ping\ndata: {"type": "ping"}\n\n', SECOND, END, DONE),
    "a time to connect again": (b"retry: 3000\n\n", FIRST, SECOND, END, DONE),
    "numbers, and comments between": (b"id: 1\n" + FIRST, b": ping\n\n", b"id: 2\n" + SECOND, END, DONE),
    "a byte order mark": (b"\xef\xbb\xbf" + FIRST, SECOND, END, DONE),
    "no end but the connection's": (FIRST, SECOND, END),
    "an end without a blank line": (FIRST, SECOND, END, DONE.strip()),
}


@pytest.mark.parametrize("steps", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("size", [None, 7])
async def test_an_answer_arrives_whole_whatever_else_is_in_its_stream(
    server: FaultServer, provider: OpenAIProvider, steps: tuple[bytes, ...], size: int | None
) -> None:
    whole = b"".join(steps)
    pieces = steps if size is None else [whole[at : at + size] for at in range(0, len(whole), size)]
    server.script(Reply(pieces))
    assert (await ask(provider))[0] == "I nod."


async def test_letters_that_are_cut_between_their_bytes_arrive_whole(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    choice = {"index": 0, "delta": {"content": "née 😀"}, "finish_reason": None}
    event = sse(json.dumps({"choices": [choice]}, ensure_ascii=False))
    server.script(Reply([*(bytes([byte]) for byte in event), END, DONE]))
    assert (await ask(provider))[0] == "née 😀"


async def test_a_line_is_passed_on_as_soon_as_it_is_whole() -> None:
    body = DataLines(Pieces(b"data: 1", b"\r", b"\n\r\nda", b"ta: 2\n\n", b"data: 3"))
    assert [piece async for piece in body] == [b"", b"", b"data: 1\r\n\r\n", b"data: 2\n\n", b"", b"data: 3"]


async def test_counts_of_tokens_are_not_taken_back_by_a_chunk_that_has_none(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    server.script(Reply((FIRST, SECOND, END, usage_chunk(), sse({"choices": [], "usage": {}}), DONE)))
    assert (await ask(provider))[1].usage == Usage(11, 7, 3, 2)


@pytest.mark.parametrize("finish", ["stop", "length", None])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_that_is_not_streamed_is_taken_with_its_tokens_and_its_bill(
    server: FaultServer, provider: OpenAIProvider, finish: str | None, kind: str
) -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "cost": 0.5}
    choice = {"index": 0, "message": {"role": "assistant", "content": "I nod."}, "finish_reason": finish}
    whole = json.dumps({"model": "m-1", "choices": [choice], "usage": usage}, indent=1).encode()
    server.script(Reply((whole[:30], whole[30:]), headers={"Content-Type": kind}))
    text, completion = await ask(provider)
    assert (text, completion.model, completion.finish_reason) == ("I nod.", "m-1", finish or "stop")
    assert (completion.usage, completion.billed) == (Usage(11, 7), Decimal("0.5"))


COMPRESSED = {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}


async def test_nothing_compressed_is_asked_for_or_read(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(Reply((gzip.compress(FIRST + END + DONE),), headers=COMPRESSED))
    refused = await fail(provider, ErrorCode.LLM_REQUEST_ERROR)
    assert "compressed" in refused.message
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("encoding", ["none", "identity", "", "utf-8", "Identity, none"])
async def test_an_answer_whose_encoding_is_named_and_compresses_nothing_is_read(
    server: FaultServer, provider: OpenAIProvider, encoding: str
) -> None:
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": encoding}
    server.script(Reply((FIRST, SECOND, END, DONE), headers=headers))
    assert (await ask(provider))[0] == "I nod."


async def test_an_answer_in_parts_arrives_with_the_parts_that_are_text(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "A nod will do."}]}
    spoken = [{"type": "text", "text": "I "}, {"type": "text", "text": "nod"}, {"type": "text"}, None, 7]
    parts = (chunk(content=[thought]), chunk(content=[thought, *spoken]), chunk("."))
    server.script(Reply((*parts, END, DONE)))
    assert (await ask(provider))[0] == "I nod."


async def test_the_status_of_an_error_counts_though_what_it_says_is_compressed(
    server: FaultServer, make: Callable[..., OpenAIProvider]
) -> None:
    said = gzip.compress(b'{"error": {"message": "' + b"x" * 10_000_000 + b'"}}')
    server.script(Reply((said,), 429, COMPRESSED))
    assert "xxx" not in (await fail(make(), ErrorCode.LLM_RATE_LIMITED)).message
