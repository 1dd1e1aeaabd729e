"""An OpenAI-compatible server on loopback for tests: valid replies by default, any fault when told to.

    async with FaultServer() as server:
        server.script(error_reply(429, headers={"Retry-After": "2"}), text_reply("Hello", " there"))
        ... talk to server.base_url; what came in is in server.requests ...

Scripted replies are used up in order; after them every request gets a valid one, made from what it asks.
A step of a reply may be an `asyncio.Event`: the server waits for it, so no test needs to sleep.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from core.providers.scripted.synthetic import json_from_schema

Body = dict[str, Any]

_WAIT_SECONDS = 30.0
_SSE = {"Content-Type": "text/event-stream"}


class Cut:
    """The step at which the connection is torn down."""


CUT = Cut()
DONE = b"data: [DONE]\n\n"
Step = bytes | asyncio.Event | Cut


@dataclass(frozen=True)
class Reply:
    """The response to one request: a status line, headers, and the body step by step, endless if need be."""

    steps: Iterable[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: dict(_SSE))


@dataclass
class Recorded:
    """A request as it came in. `left` is set when the client closed the connection before the end."""

    method: str
    path: str
    headers: dict[str, str]
    body: Body
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)


def sse(payload: object) -> bytes:
    """One server-sent event; a string goes out as it is, anything else as JSON."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return f"data: {text}\n\n".encode()


def chunk(
    text: str | None = None, *, finish: str | None = None, model: str = "test-model", **delta: object
) -> bytes:
    """One chat chunk; further fields of the delta (`refusal`, `reasoning_content`) by name."""
    if text is not None:
        delta["content"] = text
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": [choice]})


def usage_chunk(prompt: int = 11, completion: int = 7, cached: int = 3, reasoning: int = 2) -> bytes:
    """The last chunk, which carries the token counts and no choice."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    return sse({"id": "chatcmpl-1", "model": "test-model", "choices": [], "usage": usage})


def text_reply(*texts: str, finish: str = "stop", usage: bool = True) -> Reply:
    """A whole, valid answer in as many chunks as texts are given."""
    chunks = [chunk("", role="assistant"), *map(chunk, texts), chunk(finish=finish)]
    return Reply((*chunks, *([usage_chunk()] if usage else []), DONE))


def error_reply(
    status: int,
    message: str = "something is wrong",
    *,
    code: str | None = None,
    kind: str = "error",
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An error in OpenAI's shape."""
    body = {"error": {"message": message, "type": kind, "code": code, "param": param}}
    return Reply(
        (json.dumps(body).encode(),), status, {"Content-Type": "application/json", **(headers or {})}
    )


def valid_reply(body: Body) -> Reply:
    """An answer that fits the request: JSON from its schema, or a line of text."""
    last = body["messages"][-1]["content"] if body.get("messages") else ""
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return text_reply(json.dumps(json_from_schema(form["json_schema"]["schema"], last)))
    if form.get("type") == "json_object":
        return text_reply("{}")
    return text_reply("I hear you: ", last[:200])


REFUSABLE: dict[str, Callable[[Body], bool]] = {
    "json_schema": lambda body: (body.get("response_format") or {}).get("type") == "json_schema",
    "response_format": lambda body: "response_format" in body,
    "stream_options": lambda body: "stream_options" in body,
    "temperature": lambda body: "temperature" in body,
    "stop": lambda body: "stop" in body,
    "max_tokens": lambda body: "max_tokens" in body,
    "max_completion_tokens": lambda body: "max_completion_tokens" in body,
}


class LoopbackServer:
    """Listens on loopback; use it as an asynchronous context manager."""

    _server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        raise NotImplementedError


class FaultServer(LoopbackServer):
    """Speaks just enough HTTP/1.1."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.default: Callable[[Body], Reply] = valid_reply
        self._replies: deque[Reply] = deque()
        self._refused: set[str] = set()
        self._arrived = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """The address for a client, with /v1."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Body]:
        """The JSON bodies of all requests so far."""
        return [request.body for request in self.requests]

    def script(self, *replies: Reply) -> None:
        """Queue replies for the next requests."""
        self._replies.extend(replies)

    def refuse(self, *fields: str) -> None:
        """Answer every request that has one of these fields (see REFUSABLE) with a 400 that names it."""
        self._refused.update(fields)

    async def arrived(self, count: int = 1) -> Recorded:
        """Wait until so many requests have come in, and return the last of them."""
        async with asyncio.timeout(_WAIT_SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
            return self.requests[count - 1]

    async def __aexit__(self, *raised: Any) -> None:
        await super().__aexit__(*raised)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; every connection is for one, so whatever else comes in is its end."""
        recorded = await _read_request(await reader.readuntil(b"\r\n\r\n"), reader)
        reply = self._reply_to(recorded.body)
        async with self._arrived:
            self.requests.append(recorded)
            self._arrived.notify_all()
        sending = asyncio.create_task(_send(reply, writer))
        leaving = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            is_sent = sending.done() and sending.exception() is None
            (recorded.answered if is_sent else recorded.left).set()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    def _reply_to(self, body: Body) -> Reply:
        for name in sorted(self._refused):
            if REFUSABLE[name](body):
                field_name = "response_format" if name == "json_schema" else name
                return error_reply(
                    400,
                    f"Unsupported parameter: '{name}' is not supported with this model.",
                    code="unsupported_parameter",
                    kind="invalid_request_error",
                    param=field_name,
                )
        return self._replies.popleft() if self._replies else self.default(body)


class LastingServer(FaultServer):
    """Keeps a connection open for the next request, as llama.cpp does for some seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.connections = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            recorded = await _read_request(await reader.readuntil(b"\r\n\r\n"), reader)
            reply = self._reply_to(recorded.body)
            await _send(replace(reply, headers={**reply.headers, "Connection": "keep-alive"}), writer)


async def _read_request(head: bytes, reader: asyncio.StreamReader) -> Recorded:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines if x)}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Recorded(method, path, headers, json.loads(raw) if raw else {})


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> None:
    headers = {"Connection": "close", **reply.headers, "Transfer-Encoding": "chunked"}
    lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    for step in reply.steps:
        match step:
            case Cut():
                return
            case asyncio.Event():
                await asyncio.wait_for(step.wait(), _WAIT_SECONDS)
            case bytes() if step:
                writer.write(b"%x\r\n%b\r\n" % (len(step), step))
                await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
