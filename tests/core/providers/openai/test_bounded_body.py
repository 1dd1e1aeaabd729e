"""How much of a response is read: lines of a stream up to a bound each, an error up to a bound in all."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.openai.bounded_body import LONGEST_ERROR, LONGEST_LINE, BoundedBody

pytestmark = pytest.mark.anyio


class Pieces(httpx2.AsyncByteStream):
    """A body that arrives in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        self.is_closed = True


async def read(*pieces: bytes, is_error: bool = False) -> list[bytes]:
    return [piece async for piece in BoundedBody(Pieces(*pieces), most=LONGEST_ERROR if is_error else None)]


HALF = b"x" * (LONGEST_LINE // 2)


@pytest.mark.parametrize(
    "pieces",
    [(HALF, HALF), (HALF + b"\n" + HALF, HALF), (HALF, b"\n", HALF, HALF), (HALF, HALF, b"\n" + HALF, HALF)],
    ids=["one line", "a line and the rest of one", "behind a short line", "two lines"],
)
async def test_lines_of_a_stream_may_each_be_as_long_as_the_bound(pieces: tuple[bytes, ...]) -> None:
    assert await read(*pieces) == list(pieces)


@pytest.mark.parametrize(
    "pieces",
    [(HALF, HALF, b"x"), (HALF + b"\n" + HALF, HALF, b"x"), (b"\n" + HALF, HALF + b"x")],
    ids=["one line", "behind a line", "behind an empty line"],
)
async def test_a_longer_line_ends_the_call_which_may_be_tried_again(
    pieces: tuple[bytes, ...],
) -> None:
    with pytest.raises(ProviderError) as refused:
        await read(*pieces)
    assert refused.value.code is ErrorCode.LLM_SERVER_ERROR


async def test_an_error_is_bounded_in_all_whatever_its_lines_are() -> None:
    lines = (b"many\nlines\n" * 100_000)[:LONGEST_ERROR]
    assert await read(lines, is_error=True) == [lines]
    with pytest.raises(ProviderError):
        await read(lines, b"\n", is_error=True)


async def test_closing_closes_the_connection() -> None:
    body = Pieces()
    await BoundedBody(body, most=None).aclose()
    assert body.is_closed
