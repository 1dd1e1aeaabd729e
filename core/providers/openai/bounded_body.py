"""The body of a service's response with a bound: on a line of a stream, else on the whole.

A compressed body, which was not asked for, is not read: a bound on its bytes does not bound its content.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Final

import httpx2

from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.openai.errors import URL_HINT

LONGEST_LINE: Final = 8_000_000
"""Bytes of one line of a stream: a whole answer at its bound, every character escaped, is shorter."""
LONGEST_ERROR: Final = 1_000_000
"""Bytes of the body of an error."""
LONGEST_PIECE: Final = 2_000_000
"""Bytes of an answer, or of an error, that is not streamed."""
LONGEST_VECTORS: Final = 16_000_000
"""Bytes of an answer with vectors: 64 of 8,192 numbers of 25 characters have fewer."""
_VECTORS: Final = "/embeddings"
_SILENT: Final = frozenset({b"id", b"event", b"retry"})
"""Fields of an event besides its data, of which chat completions make no use."""
_COMPRESSIONS: Final = frozenset({"gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"})
"""Content encodings that compress; gateways send others, such as `none`, so that nothing in between does."""
_ERROR_OBJECT: Final = re.compile(rb'\s*\{\s*"object"\s*:\s*"error"')
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class ReadBody(httpx2.AsyncByteStream):
    """A body of a response that is read in another form than it comes in."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def aclose(self) -> None:
        """Close the connection."""
        await self._body.aclose()


class BoundedBody(ReadBody):
    """Passes the bytes of `body` on; raises ProviderError where a line or the whole is too long."""

    def __init__(self, body: httpx2.AsyncByteStream, *, most: int | None) -> None:
        super().__init__(body)
        self._most = most
        """Bytes of the whole; None bounds each line of a stream."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._body:
            line_end = piece.rfind(b"\n") if self._most is None else -1
            read = len(piece) - line_end - 1 if line_end >= 0 else read + len(piece)
            if read > (LONGEST_LINE if self._most is None else self._most):
                raise _too_long()
            yield piece


class DataLines(ReadBody):
    """Passes on the events of a stream that have data.

    The SDK takes every other event for JSON that is broken: one that only keeps the line open, or only says
    after how many seconds to connect again.
    """

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self._body:
            lines = (rest + piece).splitlines(keepends=True)
            rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
            yield b"".join(map(_data_of, lines))
        yield _data_of(rest)


def _data_of(line: bytes) -> bytes:
    """Return a line of a stream of events; nothing in place of a field that is not data, or is empty.

    An error that is an object of its own, as vLLM sends it, is put where the SDK looks for one.
    """
    line = line.removeprefix(_BYTE_ORDER_MARK)
    name, _, value = line.partition(b":")
    name = name.rstrip(b"\r\n")
    if name == b"data" and _ERROR_OBJECT.match(value):
        return b'data: {"error": %b}\n' % value.strip()
    return b"" if name in _SILENT or (name == b"data" and not value.strip()) else line


class InOnePiece(ReadBody):
    """Passes an answer or an error on as an event that a service sent as JSON with status 200.

    Any other JSON is passed over, and any other body is passed on as it comes.
    """

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun: bytes | None = b""
        async for piece in self._body:
            if begun is None:
                yield piece
                continue
            begun += piece
            if begun.lstrip()[:1] not in (b"", b"{"):
                yield begun
                begun = None
            elif len(begun) > LONGEST_PIECE:
                raise _too_long()
        if begun is not None:
            yield _event_of(begun)


def _event_of(document: bytes) -> bytes:
    """Return the event for the answer or the error in a JSON document; nothing for any other document."""
    try:
        found = json.loads(document)
    except (ValueError, RecursionError):
        return b""
    choices = found.get("choices")
    if isinstance(choices, list) and not found.get("error"):
        found["choices"] = [_whole(choice) for choice in choices if isinstance(choice, dict)]
    is_event = found.get("error") or found.get("choices")
    return b"data: %b\n\n" % json.dumps(found).encode() if is_event else b""


def _whole(choice: dict[str, object]) -> dict[str, object]:
    """Return an answer that is whole as one that is streamed; it was paid for, streamed or not."""
    return {**choice, "delta": choice.get("message"), "finish_reason": choice.get("finish_reason") or "stop"}


class CompressedBody(ReadBody):
    """Raises ProviderError in place of a body; that of an error is empty, as its status tells enough."""

    def __init__(self, body: httpx2.AsyncByteStream, *, is_error: bool) -> None:
        super().__init__(body)
        self._is_error = is_error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not self._is_error:
            raise _compressed()
        yield b""


async def bound(response: httpx2.Response) -> None:
    """Bound the body of `response`: a hook of the HTTP client."""
    body = response.stream
    if not isinstance(body, httpx2.AsyncByteStream):
        return
    encodings = response.headers.get("content-encoding", "").lower().split(",")
    if not _COMPRESSIONS.isdisjoint(map(str.strip, encodings)):
        response.stream = CompressedBody(body, is_error=response.is_error)
    elif response.is_error:
        response.stream = BoundedBody(body, most=LONGEST_ERROR)
    elif response.request.url.path.endswith(_VECTORS):
        response.stream = BoundedBody(body, most=LONGEST_VECTORS)
    else:
        response.stream = DataLines(InOnePiece(BoundedBody(body, most=None)))


def _too_long() -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        "The model's service sent more at once than any answer has; the connection was closed and nothing is "
        "lost, retry.",
        hint=URL_HINT,
    )


def _compressed() -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_REQUEST_ERROR,
        "The model's service sent its answer compressed, which it was asked not to do; nothing is lost.",
        hint=URL_HINT,
    )
