"""The bundled model, or any GGUF of the GM's, on this machine: no key, no network (design 8).

A child process serves it in the protocol that `OpenAIProvider` speaks, so a local and a remote model
share one code path.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path

from core.config.files.paths import Paths
from core.config.models.model_defaults import LOCAL_MODEL
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.local.client import LocalClient
from core.providers.local.server import LocalServer
from core.providers.local.weights import find_weights


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
        alias = LOCAL_MODEL if model_path is None else model_path.stem
        server = server or LocalServer(paths.logs, alias=alias, context_window=context_window)
        self._local = LocalClient(server, partial(find_weights, paths, model_path))

    @property
    def name(self) -> str:
        """Name of the provider in artifacts."""
        return self._local.name

    @property
    def base_url(self) -> str | None:
        """None: nothing leaves this machine."""
        return None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield the deltas and the completion; see `Provider.stream`."""
        client = await self._local.ready()
        async with self._local.watch_exit(), aclosing(client.stream(request)) as items:
            async for item in items:
                yield item

    async def start(self) -> None:
        """Start the model before the first call; raise ProviderError when it does not start here."""
        await self._local.ready()

    async def aclose(self) -> None:
        """Close the connections and end the child."""
        await self._local.aclose()
