"""Any service that speaks OpenAI's chat protocol, through the official SDK (design 8).

This is the only file that imports `openai`. The import takes more than a second, so it happens at the
first call, in a thread; `preload` lets an application have it done before.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import SecretStr

from core.config.consent import is_loopback, may_use_proxy, normalise_base_url
from core.domain.errors import ErrorCode
from core.domain.requests.request import NO_TOKENS, Usage
from core.providers.answer import Answer, AnswerChunk, cut_off
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.openai.chunks import ChunkReader
from core.providers.openai.dialect import (
    Dialect,
    adapted,
    bridged,
    must_alternate,
    parameters,
    refused_fields,
)
from core.providers.openai.errors import (
    KEY_HINT,
    URL_HINT,
    RedactedValues,
    ServiceFault,
    not_a_stream,
    provider_error,
    read_fault,
)

if TYPE_CHECKING:
    import httpx2
    import openai
    from openai.types.chat import ChatCompletionChunk

    ChunkStream = openai.AsyncStream[ChatCompletionChunk]

T = TypeVar("T")

_PLACEHOLDER_KEY = "none"
"""Keeps the SDK from looking for a key of its own; it never leaves, because our hook sets the header."""
_END = object()
_MOST_TRIES = 10
"""One more than there are fields to be refused, and one to spare."""
_TAIL_SECONDS = 5.0
"""Seconds to wait for the token counts once the answer is complete."""
_CONNECT_SECONDS = 15.0
_OUR_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}
)


def preload() -> None:
    """Import the SDK; slow, so call it in a thread behind the first paint."""
    import openai.resources.chat.completions  # noqa: F401 - to have it imported is all


class OpenAIProvider:
    """Streams chat completions from one address.

    `find_key` is asked outside the event loop, at the first call and again after a refused key.
    `headers` go with every call beside ours; they may be secret, and are shown nowhere. `alternate_roles`
    says whether the messages of user and assistant must alternate; None decides by the known properties of
    the address and the model. A server on this machine is sent llama.cpp's fields of `Sampling` too, until it
    refuses them.
    """

    def __init__(
        self,
        *,
        base_url: str,
        find_key: Callable[[], SecretStr | None],
        name: str = "openai",
        headers: Mapping[str, SecretStr] | None = None,
        alternate_roles: bool | None = None,
    ) -> None:
        self._url = normalise_base_url(base_url)
        self._find_key = find_key
        self._name = name
        self._headers = {header: value.get_secret_value() for header, value in (headers or {}).items()}
        self._alternate_roles = alternate_roles
        self._client: openai.AsyncOpenAI | None = None
        self._key: str | None = None
        """Empty when there is none; None until it was looked for."""
        self._preparing = asyncio.Lock()
        self._dialects: dict[str, Dialect] = {}
        """Learned dialect of each model at this address."""

    @property
    def name(self) -> str:
        """Name of the provider in artifacts."""
        return self._name

    @property
    def base_url(self) -> str | None:
        """The address, normalised; None for one on this machine."""
        return None if is_loopback(self._url) else self._url

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield the deltas and the completion; see `Provider.stream`. Consent is the gateway's to check."""
        if must_alternate(self._alternate_roles, self._url, request.model):
            request = replace(request, messages=bridged(request.messages))
        answer, reader = Answer(request.model), ChunkReader()
        stream = await self._open(request)
        try:
            deadline = _now() + request.timeout
            while (piece := await self._next(stream, reader, deadline, answer)) is not None:
                if text := answer.add(piece):
                    yield TextDelta(text)
                if piece.is_progress:
                    deadline = _now() + (_TAIL_SECONDS if answer.is_finished else request.timeout)
        finally:
            await stream.close()
        if not reader.has_read and (error := not_a_stream(stream.response.headers.get("content-type", ""))):
            raise error
        if text := answer.rest():
            yield TextDelta(text)
        refused = refused_fields(request, self._dialects[request.model])
        yield replace(answer.completion(), refused_fields=refused)

    async def embeddings(self, texts: Sequence[str], model: str, seconds: float) -> bytes:
        """Return the unread answer to `POST /embeddings`, bounded in size; raise ProviderError."""
        deadline = _now() + seconds
        client = await _in_time(self._ready_client(), deadline)
        import httpx2
        import openai

        # Not `client.embeddings`, which would read the answer at length, and within the event loop.
        call = client.post(
            "/embeddings",
            cast_to=httpx2.Response,
            body={"input": [*texts], "model": model, "encoding_format": "float"},
            options={"timeout": _timeout(seconds)},
        )
        try:
            with _translated(self._secrets):
                return (await _in_time(call, deadline)).content
        except openai.APIStatusError as error:
            raise self._refused(read_fault(error.status_code, error.body, error.response.headers)) from None

    async def prepare(self) -> None:
        """Load the SDK and look for the key; nothing is sent."""
        await self._ready_client()

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _open(self, request: ModelRequest) -> ChunkStream:
        """Start the call, in simpler and simpler dialects while the service refuses a field."""
        dialect: Dialect | None = self._dialects.get(request.model) or Dialect.of(
            request.model, takes_llama_sampling=is_loopback(self._url)
        )
        fault = ServiceFault(status=None)
        for _ in range(_MOST_TRIES):
            if dialect is None:
                break
            opened = await self._try(request, dialect)
            if not isinstance(opened, ServiceFault):
                self._dialects[request.model] = dialect
                return opened
            fault, dialect = opened, adapted(dialect, opened, request)
        raise self._refused(fault)

    def _refused(self, fault: ServiceFault) -> ProviderError:
        """Return the error for a fault; the key is looked for again after one that was refused."""
        error = provider_error(fault, self._secrets)
        if error.code is ErrorCode.LLM_AUTH_ERROR:
            self._key = None
        return error

    async def _try(self, request: ModelRequest, dialect: Dialect) -> ChunkStream | ServiceFault:
        """Send the request once; return the fault when the service answered with an error."""
        deadline = _now() + request.timeout
        client = await _in_time(self._ready_client(), deadline)
        import openai

        call = client.chat.completions.create(
            **parameters(request, dialect),  # type: ignore[call-overload]  # a dict of overloads
            stream=True,
            timeout=_timeout(request.timeout),
        )
        try:
            with _translated(self._secrets):
                stream: ChunkStream = await _in_time(call, deadline)
                return stream
        except openai.APIStatusError as error:
            return read_fault(error.status_code, error.body, error.response.headers)

    async def _next(
        self, stream: ChunkStream, reader: ChunkReader, deadline: float, answer: Answer
    ) -> AnswerChunk | None:
        """Return what the next chunk brings, or None at the end; a complete answer needs nothing more."""
        try:
            with _translated(self._secrets, is_streaming=True):
                chunk = await _in_time(anext(stream, _END), deadline)
                return None if chunk is _END else reader.read(chunk)
        except ProviderError as error:
            if answer.is_finished:
                return None
            error.usage, error.billed, error.is_begun = answer.usage, answer.billed, answer.is_begun
            raise

    @property
    def _secrets(self) -> RedactedValues:
        return RedactedValues(self._key or "", tuple(self._headers.values()))

    async def _ready_client(self) -> openai.AsyncOpenAI:
        async with self._preparing:
            if self._key is None:
                found = await asyncio.to_thread(self._find_key)
                self._key = _checked(found.get_secret_value().strip() if found else "")
            if self._client is None:
                self._client = await asyncio.to_thread(self._make_client)
            return self._client

    def _make_client(self) -> openai.AsyncOpenAI:
        preload()
        import httpx2
        import openai

        from core.providers.openai.bounded_body import bound

        # A server on this machine (llama.cpp) closes a connection after as many idle seconds as httpx keeps
        # it, so that a call could go into one that is being closed. To open another costs nothing here.
        limits = httpx2.Limits(max_keepalive_connections=0 if is_loopback(self._url) else None)
        http_client = openai.DefaultAsyncHttpx2Client(
            follow_redirects=False,
            limits=limits,
            trust_env=may_use_proxy(self._url),
            event_hooks={"request": [self._send_only_ours], "response": [bound]},
        )
        return openai.AsyncOpenAI(
            base_url=self._url, api_key=_PLACEHOLDER_KEY, max_retries=0, http_client=http_client
        )

    async def _send_only_ours(self, request: httpx2.Request) -> None:
        """Drop what the SDK adds from the environment or tells of this machine, and put our key in."""
        for header in set(request.headers) - _OUR_HEADERS:
            del request.headers[header]
        request.headers["user-agent"] = "storyengine"
        request.headers["accept-encoding"] = "identity"
        request.headers.update(self._headers)
        if self._key:
            request.headers["authorization"] = f"Bearer {self._key}"


def _checked(key: str) -> str:
    """Raise for a key that cannot be put into a header, without showing it."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ProviderError(
            ErrorCode.LLM_AUTH_ERROR,
            "The key contains characters that no key has; nothing was sent, set it again.",
            hint=KEY_HINT,
        )
    return key


def _now() -> float:
    return asyncio.get_running_loop().time()


def _timeout(seconds: float) -> openai.Timeout:
    import openai

    return openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


async def _in_time(awaitable: Awaitable[T], deadline: float) -> T:
    """Await until `deadline` on the loop's clock; raise ProviderError with LLM_TIMEOUT after it."""
    try:
        async with asyncio.timeout_at(deadline):
            return await awaitable
    except TimeoutError:
        raise ProviderError(ErrorCode.LLM_TIMEOUT) from None


@contextlib.contextmanager
def _translated(secrets: RedactedValues, *, is_streaming: bool = False) -> Iterator[None]:
    """Turn the SDK's errors into ours, but for refusals by status, which may be worth another dialect.

    The cause is not kept: its text, which may repeat the key, would go into the log with it.
    """
    import httpx2
    import openai

    try:
        yield
    except openai.APIStatusError:
        raise
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise ProviderError(ErrorCode.LLM_TIMEOUT, usage=_of_unsent(error)) from None
    except (openai.APIConnectionError, httpx2.HTTPError, httpx2.StreamError) as error:
        raise (cut_off() if is_streaming else _unreachable(_of_unsent(error))) from None
    except openai.APIResponseValidationError:
        raise _unreadable() from None
    except openai.APIError as error:
        raise provider_error(read_fault(None, error.body, {}), secrets) from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        if not is_streaming:
            raise
        raise _unreadable() from None


def _of_unsent(error: Exception) -> Usage | None:
    """Return that a call that was never sent has no tokens; None for any other."""
    import httpx2

    was_sent = not isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
    return None if was_sent else NO_TOKENS


def _unreachable(usage: Usage | None) -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        "The model's service could not be reached; nothing is lost, check the connection and retry.",
        hint="See that it runs, and that its address is right: F6 shows it, STORYENGINE_BASE_URL may set it.",
        usage=usage,
    )


def _unreadable() -> ProviderError:
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        "The model's service sent something that is not a stream of chat chunks; nothing is lost, retry.",
        hint=URL_HINT,
    )
