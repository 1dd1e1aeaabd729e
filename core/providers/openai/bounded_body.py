"""The body of a service's response with a bound: on a line of a stream, else on the whole."""

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
LONGEST_VECTORS: Final = 16_000_000
"""Bytes of an answer with vectors: 64 of 8,192 numbers of 25 characters have fewer."""
_VECTORS: Final = "/embeddings"


class BoundedBody(httpx2.AsyncByteStream):
    """Passes the bytes of `body` on; raises ProviderError where a line or the whole is too long."""

    def __init__(self, body: httpx2.AsyncByteStream, *, most: int | None) -> None:
        self._body = body
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

    async def aclose(self) -> None:
        """Close the connection."""
        await self._body.aclose()


async def bound(response: httpx2.Response) -> None:
    """Bound the body of `response`: a hook of the HTTP client."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        most = LONGEST_VECTORS if response.request.url.path.endswith(_VECTORS) else None
        response.stream = BoundedBody(response.stream, most=LONGEST_ERROR if response.is_error else most)


def _too_long() -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        "The model's service sent more at once than any answer has; the connection was closed and nothing is "
        "lost, retry.",
        hint=URL_HINT,
    )
