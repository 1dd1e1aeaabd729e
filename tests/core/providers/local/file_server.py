"""A server of files on loopback that does what real ones do, and what they should not."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tests.http_faults import LoopbackServer

Headers = dict[str, str]
Answer = Callable[["FileServer", Headers, asyncio.StreamWriter], Awaitable[None]]
ETAG = '"v1"'


class FileServer(LoopbackServer):
    """Serves `content` with ranges; a scripted answer takes the place of the next good one."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.etag = ETAG
        self.script: deque[Answer] = deque()
        self.asked: list[tuple[str, Headers]] = []
        self.is_held = asyncio.Event()
        """Set when an answer waits until the client has gone."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/model.gguf"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            line, *rest = head.strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
            self.asked.append((line, headers))
            await (self.script.popleft() if self.script else good)(self, headers, writer)
        writer.close()

    def ranges(self) -> list[str]:
        """The requested ranges, request by request; empty for the whole file."""
        return [headers.get("range", "") for _, headers in self.asked]


async def send(writer: asyncio.StreamWriter, status: str, headers: Headers, body: bytes = b"") -> None:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
    await writer.drain()


def _offset(server: FileServer, headers: Headers) -> int:
    wanted = headers.get("range", "")
    if not wanted or headers.get("if-range") != server.etag:
        return 0
    return int(wanted.removeprefix("bytes=").removesuffix("-"))


def _head(server: FileServer, offset: int) -> tuple[str, Headers]:
    size = len(server.content)
    headers = {"ETag": server.etag, "Content-Length": str(size - offset)}
    if not offset:
        return "200 OK", headers
    return "206 Partial Content", {**headers, "Content-Range": f"bytes {offset}-{size - 1}/{size}"}


async def good(server: FileServer, headers: Headers, writer: asyncio.StreamWriter) -> None:
    offset = _offset(server, headers)
    await send(writer, *_head(server, offset), server.content[offset:])


def breaks_off_after(count: int) -> Answer:
    """Send so many bytes of what was announced, and close."""

    async def answer(server: FileServer, headers: Headers, writer: asyncio.StreamWriter) -> None:
        offset = _offset(server, headers)
        await send(writer, *_head(server, offset), server.content[offset : offset + count])

    return answer


def stalls_after(count: int) -> Answer:
    """Send so many bytes, and no more until the client closes the connection."""

    async def answer(server: FileServer, headers: Headers, writer: asyncio.StreamWriter) -> None:
        await breaks_off_after(count)(server, headers, writer)
        server.is_held.set()
        with suppress(ConnectionError):
            while not writer.transport.is_closing():
                await asyncio.wait_for(writer.wait_closed(), 30)

    return answer


def leads_to(address: str, status: str = "302 Found") -> Answer:
    async def answer(server: FileServer, headers: Headers, writer: asyncio.StreamWriter) -> None:
        await send(writer, status, {"Location": address, "Content-Length": "0"})

    return answer


def answers(status: str, headers: Headers | None = None, body: bytes = b"") -> Answer:
    async def answer(server: FileServer, asked: Headers, writer: asyncio.StreamWriter) -> None:
        await send(writer, status, headers or {}, body)

    return answer


async def endless(server: FileServer, headers: Headers, writer: asyncio.StreamWriter) -> None:
    """Send without a length and without an end."""
    await send(writer, "200 OK", {})
    while not writer.transport.is_closing():
        writer.write(bytes(1 << 16))
        await writer.drain()
