"""Servers of this machine are found in one short look, and whatever else answers there does no harm."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from core.providers.discovery import KINDS, LOOK_SECONDS, MOST_MODELS, UNKNOWN, FoundServer, find_servers
from tests.bad_text import KINDS as BAD_TEXTS
from tests.bad_text import acts

pytestmark = pytest.mark.anyio
Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]
BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass
class Place:
    """A server of ours, and what it was sent."""

    port: int
    sent: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def server(respond: Respond, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Place]:
    """Serve one kind of answer; connections that are still open at the end are cut."""
    place, writers = Place(0), set[asyncio.StreamWriter]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            place.sent.append(await reader.readuntil(b"\r\n\r\n"))
            await respond(writer)
        writer.close()

    running = await asyncio.start_server(handle, host, port)
    place.port = running.sockets[0].getsockname()[1]
    try:
        yield place
    finally:
        running.close()
        for writer in writers:
            writer.close()


def listing(*models: str, owner: str | None = None) -> bytes:
    own = {} if owner is None else {"owned_by": owner}
    body = {"object": "list", "data": [{"id": name, "object": "model", **own} for name in models]}
    return json.dumps(body).encode()


def says(body: bytes, status: str = "200 OK", *headers: str) -> Respond:
    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join([f"HTTP/1.0 {status}", *headers, "", ""]).encode() + body)
        await writer.drain()

    return respond


async def look_at(place: Place, name: str = "Jan", **options: Any) -> list[FoundServer]:
    return await find_servers([replace(BY_NAME[name], port=place.port)], **options)


@pytest.mark.parametrize(
    ("name", "owner", "model"),
    [
        ("Ollama", "library", "llama3.2:3b"),
        ("Ollama", "hf.co/somebody", "hf.co/somebody/model:Q4_K_M"),
        ("LM Studio", "organization_owner", "qwen/qwen3-8b"),
        ("llama.cpp", "llamacpp", "/models/own.gguf"),
        ("KoboldCpp", "koboldcpp", "koboldcpp/dolphin-mistral-7b"),
        ("vLLM", "vllm", "Qwen/Qwen3-32B"),
        ("Jan", None, "jan-v3-4b"),
        ("text-generation-webui", "user", "own-model"),
    ],
)
async def test_each_kind_of_server_is_known_and_named(name: str, owner: str | None, model: str) -> None:
    async with server(says(listing(model, owner=owner))) as place:
        found = await look_at(place, name)
    assert found == [FoundServer(name, f"http://127.0.0.1:{place.port}/v1", (model,))]


async def test_nothing_is_sent_but_the_question_for_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("STORYENGINE_API_KEY", "canary")
    async with server(says(listing("a"))) as place:
        assert await look_at(place)
    host = f"Host: 127.0.0.1:{place.port}"
    assert place.sent == [f"GET /v1/models HTTP/1.0\r\n{host}\r\nAccept: application/json\r\n\r\n".encode()]


@pytest.mark.parametrize(
    ("port_of", "owner", "name"),
    [
        ("vLLM", "llamacpp", "llama.cpp"),
        ("llama.cpp", "koboldcpp", "KoboldCpp"),
        ("LM Studio", "library", "Ollama"),
        ("llama.cpp", "somebody", UNKNOWN),
        ("vLLM", "user", UNKNOWN),
        ("LM Studio", "somebody", "LM Studio"),
    ],
)
async def test_a_server_on_the_port_of_another_is_called_what_it_says_it_is(
    port_of: str, owner: str, name: str
) -> None:
    async with server(says(listing("a", owner=owner))) as place:
        [found] = await look_at(place, port_of)
    assert found.kind == name


async def test_a_server_on_the_newer_loopback_address_is_found_and_one_on_both_is_one() -> None:
    try:
        async with server(says(listing("a")), "::1") as place:
            [found] = await look_at(place)
            assert found.address == f"http://[::1]:{place.port}/v1"
            async with server(says(listing("a")), port=place.port):
                [found] = await look_at(place)
                assert found.address == f"http://127.0.0.1:{place.port}/v1"
    except OSError:
        pytest.skip("this machine has no IPv6")


async def test_a_server_that_wants_a_key_is_named_without_models() -> None:
    async with server(says(b'{"error": "no key"}', "401 Unauthorized")) as place:
        assert await look_at(place, "Jan") == [
            FoundServer("Jan", f"http://127.0.0.1:{place.port}/v1", wants_key=True)
        ]
        assert await look_at(place, "vLLM") == []


async def test_a_server_that_leaves_the_connection_open_is_found() -> None:
    body = listing("a")

    async def respond(writer: asyncio.StreamWriter) -> None:
        await says(body, "200 OK", f"Content-Length: {len(body)}")(writer)
        await asyncio.sleep(5)  # a server that keeps the connection open

    async with server(respond) as place:
        assert [one.models for one in await look_at(place)] == [("a",)]


async def test_models_that_write_no_text_are_left_out() -> None:
    async with server(
        says(listing("a", "text-embedding-nomic", "bge-reranker", "nomic-embed-text"))
    ) as place:
        [found] = await look_at(place)
    assert found.models == ("a",)


async def test_a_server_without_models_is_found() -> None:
    async with server(says(listing())) as place:
        [found] = await look_at(place)
    assert found.models == ()


async def never(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(5)  # a server that does not answer


async def drips(writer: asyncio.StreamWriter) -> None:
    for byte in b"HTTP/1.0 200 OK\r\n\r\n" + listing("a") * 100:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.01)  # a server that sends byte by byte


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.0 200 OK\r\n\r\n{")
    while True:
        writer.write(b" " * 65_536)
        await writer.drain()


HOSTILE: dict[str, Respond] = {
    "never answers": never,
    "one byte at a time": drips,
    "without end": endless,
    "closes": lambda writer: asyncio.sleep(0),
    "half a head": lambda writer: _write(writer, b"HTTP/1.0 200"),
    "binary": lambda writer: _write(writer, bytes(range(256)) * 40),
    "ssh": lambda writer: _write(writer, b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
    "a page": says(b"<html>Hello</html>", "200 OK", "Content-Type: text/html"),
    "not JSON": says(b'{"data": [{"id": "a"'),
    "other JSON": says(b'{"data": {"id": "a"}}'),
    "a list": says(b'["a"]'),
    "a number": says(b"1" * 5_000),
    "deep": says(b"[" * 100_000),
    "not UTF-8": says(b'{"data": [{"id": "\xff\xfe"}]}'),
    "huge": says(b'{"data": [' + b'{"id": "a"},' * 200_000 + b'{"id": "a"}]}'),
    "not found": says(listing("a"), "404 Not Found"),
    "forbidden": says(listing("a"), "403 Forbidden"),
    "an error": says(listing("a"), "500 Internal Server Error"),
    "a lying length": says(b"{", "200 OK", f"Content-Length: {'9' * 5_000}"),
}


async def _write(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(content)
    await writer.drain()


@pytest.mark.parametrize("what", HOSTILE)
async def test_what_lists_no_models_is_not_a_server_and_takes_no_longer(what: str) -> None:
    async with server(HOSTILE[what]) as place, server(says(listing("good"))) as other:
        kinds = [replace(BY_NAME["Jan"], port=place.port), replace(BY_NAME["Ollama"], port=other.port)]
        async with asyncio.timeout(60):
            found = await find_servers(kinds)
    assert [one.models for one in found] == [("good",)]


async def test_a_redirect_is_not_followed() -> None:
    async with server(says(listing("a"))) as target:
        leads = says(b"", "302 Found", f"Location: http://127.0.0.1:{target.port}/v1/models")
        async with server(leads) as place:
            assert await look_at(place) == []
        assert target.sent == []


async def test_only_so_many_models_are_taken() -> None:
    async with server(says(listing(*(f"model-{number}" for number in range(MOST_MODELS * 3))))) as place:
        [found] = await look_at(place)
    assert len(found.models) == MOST_MODELS


async def test_a_name_that_acts_is_too_long_or_is_no_text_is_left_out() -> None:
    bad = [kind.text for kind in BAD_TEXTS if acts(kind.text)]
    assert bad
    body = json.dumps(
        {
            "data": [
                {"id": name} for name in (*bad, "x" * 201, "", " ", " a", "two\nlines", 7, None, ["a"], "b")
            ]
        }
    )
    async with server(says(body.encode())) as place:
        [found] = await look_at(place)
    assert found.models == ("b",)


async def test_the_whole_look_is_over_in_time_though_every_server_is_silent() -> None:
    async with contextlib.AsyncExitStack() as stack:
        places = [await stack.enter_async_context(server(never)) for _ in KINDS]
        kinds = [replace(kind, port=place.port) for kind, place in zip(KINDS, places, strict=True)]
        begin = time.monotonic()
        assert await find_servers(kinds) == []
        one_after_the_other = len(kinds) * LOOK_SECONDS
        assert LOOK_SECONDS - 0.02 <= time.monotonic() - begin < one_after_the_other


async def test_a_port_that_takes_no_connection_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert await find_servers([replace(BY_NAME["Jan"], port=taken.getsockname()[1])]) == []


def test_every_kind_has_a_port_of_its_own() -> None:
    assert len({kind.port for kind in KINDS}) == len(KINDS) == 7


def test_looking_needs_no_library_of_a_service() -> None:
    program = (
        "import sys, core.providers.discovery; print({'openai', 'httpx2', 'textual'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
