"""Fetches a model file from its address over HTTP, and goes on where an earlier try ended (design 8)."""

import asyncio
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

import httpx2

from core.config.consent import may_use_proxy
from core.providers.local.catalogue import CatalogueEntry, is_address_allowed
from core.providers.local.partial_file import FetchFailedError, PartialFile, Progress, in_thread

_MOST_REDIRECTS = 5
_TRIES = 5
_BLOCK_BYTES = 1 << 20
STALL_SECONDS = 30.0
"""A server that sends nothing for so long is asked again."""
PAUSE_SECONDS = 1.0
"""Between two tries."""
_LONGEST_SECONDS = 86_400.0
"""However slowly a server sends, it is not waited for longer than a day."""


class _BrokenOffError(Exception):
    """The transfer ended early for a reason that another try may overcome."""


async def download(entry: CatalogueEntry, partial: PartialFile, progress: Progress) -> None:
    """Complete `partial` from the entry's address; raise ProviderError, or OSError when it cannot be stored.

    A transfer that breaks off or stalls is continued, a few times.
    """
    address = entry.address or ""
    timeout = httpx2.Timeout(STALL_SECONDS)
    try:
        async with (
            asyncio.timeout(_LONGEST_SECONDS),
            httpx2.AsyncClient(timeout=timeout, trust_env=may_use_proxy(_origin(address))) as client,
        ):
            for tries_left in reversed(range(_TRIES)):
                try:
                    await _continue(client, entry, partial, progress)
                    return
                except _BrokenOffError as error:
                    if not tries_left:
                        raise FetchFailedError(
                            f"{error}, {_TRIES} times; the received part is kept"
                        ) from None
                await asyncio.sleep(PAUSE_SECONDS)
    except TimeoutError:
        raise FetchFailedError("it took longer than a day; the received part is kept") from None


async def _continue(
    client: httpx2.AsyncClient, entry: CatalogueEntry, partial: PartialFile, progress: Progress
) -> None:
    if partial.size == entry.bytes:
        return
    if partial.size > entry.bytes or (partial.size and not partial.validator):
        # Without a version, the server may have another file by now.
        await in_thread(partial.restart)
    headers = {"Accept-Encoding": "identity", "User-Agent": "storyengine"}
    if partial.size:
        headers |= {"Range": f"bytes={partial.size}-", "If-Range": partial.validator}
    try:
        response = await _open(client, entry.address or "", headers)
        try:
            await _prepare(response, entry, partial)
            await _receive(response, entry, partial, progress)
        finally:
            await response.aclose()
    except httpx2.TimeoutException:
        raise _BrokenOffError(f"the server sent nothing for {client.timeout.read:.0f} seconds") from None
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL):
        raise _BrokenOffError("the connection broke off") from None
    if partial.size < entry.bytes:
        raise _BrokenOffError("the connection broke off")


async def _open(client: httpx2.AsyncClient, address: str, headers: Mapping[str, str]) -> httpx2.Response:
    """Return the open response, after at most some redirects that lead to no worse place."""
    for _ in range(_MOST_REDIRECTS + 1):
        request = client.build_request("GET", address, headers=dict(headers))
        response = await client.send(request, stream=True)
        if response.status_code not in (301, 302, 303, 307, 308):
            return response
        await response.aclose()
        address = _redirected(address, response.headers.get("Location", ""))
    raise FetchFailedError("the server leads from one address to the next without end")


def _redirected(address: str, location: str) -> str:
    """Return where a redirect leads: over https anywhere, over plain http within this machine.

    Raises ProviderError for any other place.
    """
    try:
        target = urljoin(address, location)
        before, after = urlsplit(address), urlsplit(target)
        is_same_host = before.hostname == after.hostname
    except ValueError:
        raise FetchFailedError("the server leads to an address that is not valid") from None
    is_as_safe = before.scheme == after.scheme and (after.scheme == "https" or is_same_host)
    if not (is_as_safe and is_address_allowed(target)):
        raise FetchFailedError("the server leads to an address that is not allowed")
    return target


async def _prepare(response: httpx2.Response, entry: CatalogueEntry, partial: PartialFile) -> None:
    """Check what the server announces, and put `partial` where the body begins."""
    status, offset = response.status_code, partial.size
    if status == 206 and offset:
        if response.headers.get("Content-Range", "").strip() != _range(offset, entry.bytes):
            await in_thread(partial.restart)
            raise _BrokenOffError("the server sent another part than the one asked for")
    elif status == 200:
        offset = 0
    elif status == 416:
        await in_thread(partial.restart)
        raise _BrokenOffError("the server has not that part")
    elif status == 429 or status >= 500:
        raise _BrokenOffError(f"the server answered with status {status}")
    else:
        raise FetchFailedError(f"the server answered with status {status}")
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise FetchFailedError("the server sent it in another encoding than the one asked for")
    length = response.headers.get("Content-Length")
    if length is not None and length.strip() != str(entry.bytes - offset):
        raise FetchFailedError("the server has a file of another size")
    if not offset:  # only now: the page of a hotel or a proxy is no reason to forget what has arrived
        await in_thread(partial.restart, _validator_of(response))


async def _receive(
    response: httpx2.Response, entry: CatalogueEntry, partial: PartialFile, progress: Progress
) -> None:
    size, waiting = partial.size, bytearray()
    progress("downloading", size / entry.bytes)
    try:
        async for block in response.aiter_raw():
            size += len(block)
            waiting += block
            if size > entry.bytes:
                break
            if len(waiting) >= _BLOCK_BYTES:
                block, waiting = bytes(waiting), bytearray()
                await in_thread(partial.append, block)
                progress("downloading", size / entry.bytes)
    finally:
        await in_thread(partial.append, bytes(waiting))
    if size > entry.bytes:
        await in_thread(partial.discard)
        raise FetchFailedError("the server sent more than the file has")


def _range(offset: int, size: int) -> str:
    return f"bytes {offset}-{size - 1}/{size}"


def _validator_of(response: httpx2.Response) -> str:
    """Return the version of the server's file: a strong ETag, else when it was changed."""
    tag = response.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return str(tag)
    return str(response.headers.get("Last-Modified", ""))


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
