"""The client of a child process, which is started when wanted, and again when it has died (design 8)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.local.server import Endpoint, LocalServer
from core.providers.openai.provider import OpenAIProvider


class LocalClient:
    """Speaks the protocol of a service to a child of this process.

    `find_file` returns the weights, and may block; it raises ProviderError.
    """

    name = "local"
    """Name of the provider in artifacts."""

    def __init__(self, server: LocalServer, find_file: Callable[[], Path]) -> None:
        self._server = server
        self._find_file = find_file
        self._client: OpenAIProvider | None = None
        self._endpoint: Endpoint | None = None

    async def ready(self) -> OpenAIProvider:
        """Return the client of a child that runs; raise ProviderError when it does not start here."""
        model_file = await asyncio.to_thread(self._find_file)
        endpoint = await self._server.ensure(model_file)
        if self._client is None or endpoint is not self._endpoint:
            stale, self._client, self._endpoint = self._client, self.client_for(endpoint), endpoint
            if stale is not None:
                await stale.aclose()
        return self._client

    @asynccontextmanager
    async def watch_exit(self) -> AsyncIterator[None]:
        """Raise what the GM is told of a child that has died, in place of the error of its last call."""
        try:
            yield
        except ProviderError as error:
            if error.code is ErrorCode.LLM_SERVER_ERROR and (death := await self._server.death()):
                raise death from error
            raise

    async def aclose(self) -> None:
        """Close the connections and end the child."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await self._server.aclose()

    def client_for(self, endpoint: Endpoint) -> OpenAIProvider:
        """Return a client that calls `endpoint` with its key."""
        key = SecretStr(endpoint.api_key)
        return OpenAIProvider(base_url=endpoint.base_url, find_key=lambda: key, name=self.name)
