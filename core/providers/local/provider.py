"""The bundled model, or any GGUF of the GM's, on this machine: no key, no network (design 8).

A child process serves it in the protocol that `OpenAIProvider` speaks, so a local and a remote model
share one code path.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from pydantic import SecretStr

from core.config.model_defaults import LOCAL_MODEL
from core.config.paths import Paths
from core.domain.errors import ErrorCode
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.local.server import Endpoint, LocalServer
from core.providers.local.weights import find_weights
from core.providers.openai.provider import OpenAIProvider


class LocalProvider:
    """Starts the model at the first call, and again when it has died; share one in a process."""

    def __init__(
        self,
        paths: Paths,
        *,
        model_path: Path | None = None,
        context_window: int = 8_192,
        server: LocalServer | None = None,
    ) -> None:
        self._paths = paths
        self._model_path = model_path
        alias = LOCAL_MODEL if model_path is None else model_path.stem
        self._server = server or LocalServer(paths.logs, alias=alias, context_window=context_window)
        self._client: OpenAIProvider | None = None
        self._endpoint: Endpoint | None = None

    @property
    def name(self) -> str:
        """What an artifact names."""
        return "local"

    @property
    def base_url(self) -> str | None:
        """None: nothing leaves this machine."""
        return None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield the deltas and the completion; see `Provider.stream`."""
        client = await self._ready()
        try:
            async with aclosing(client.stream(request)) as items:
                async for item in items:
                    yield item
        except ProviderError as error:
            if error.code is ErrorCode.LLM_SERVER_ERROR and (death := await self._server.death()):
                raise death from error
            raise

    async def start(self) -> None:
        """Start the model before the first call; raise ProviderError when it does not start here."""
        await self._ready()

    async def aclose(self) -> None:
        """Close the connections and end the child."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await self._server.aclose()

    async def _ready(self) -> OpenAIProvider:
        model_file = await asyncio.to_thread(find_weights, self._paths, self._model_path)
        endpoint = await self._server.ensure(model_file)
        if self._client is None or endpoint is not self._endpoint:
            stale, self._client, self._endpoint = self._client, self._client_for(endpoint), endpoint
            if stale is not None:
                await stale.aclose()
        return self._client

    def _client_for(self, endpoint: Endpoint) -> OpenAIProvider:
        key = SecretStr(endpoint.api_key)
        return OpenAIProvider(
            base_url=endpoint.base_url,
            find_key=lambda: key,
            name=self.name,
        )
