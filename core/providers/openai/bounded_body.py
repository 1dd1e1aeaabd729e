"""The body of a service's response with a bound: on a line of a stream, and on the whole of an error."""

from collections.abc import AsyncIterator
from typing import Final

import httpx2

from core.domain.errors import ErrorCode
from core.providers.base import ProviderError

LONGEST_LINE: Final = 8_000_000
"""Bytes of one line of a stream: a whole answer at its bound, every character escaped, is shorter."""
LONGEST_ERROR: Final = 1_000_000
"""Bytes of the body of an error."""


class BoundedBody(httpx2.AsyncByteStream):
    """Passes the bytes of `body` on; raises ProviderError where a line, or all of an error, is too long."""

    def __init__(self, body: httpx2.AsyncByteStream, *, is_error: bool) -> None:
        self._body = body
        self._is_error = is_error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._body:
            line_end = -1 if self._is_error else piece.rfind(b"\n")
            read = len(piece) - line_end - 1 if line_end >= 0 else read + len(piece)
            if read > (LONGEST_ERROR if self._is_error else LONGEST_LINE):
                raise _too_long()
            yield piece

    async def aclose(self) -> None:
        """Close the connection."""
        await self._body.aclose()


async def bound(response: httpx2.Response) -> None:
    """Bound the body of `response`: a hook of the HTTP client."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = BoundedBody(response.stream, is_error=response.is_error)


def _too_long() -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        "The model's service sent more without a line break than any answer has; the connection was closed "
        "and nothing is lost, retry.",
        hint="When it happens again, check STORYENGINE_BASE_URL.",
    )
