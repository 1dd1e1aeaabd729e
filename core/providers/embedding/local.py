"""The bundled embedding model on this machine: a child process of its own, whatever model the story has.

It is started by the first text, takes some 160 MB, and ends with the program as that of the local model does.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.config.files.paths import Paths
from core.providers.embedding.base import Embedding
from core.providers.embedding.service import embed_with
from core.providers.embedding.weights import HINT, MODEL, are_here, find_weights
from core.providers.local.client import LocalClient
from core.providers.local.server import LocalServer, ServerUse

EMBEDDINGS: Final = ServerUse(
    "The bundled embedding model", "embedding-model.log", HINT, is_for_embeddings=True
)
_TOKENS: Final = 512
"""Maximum tokens that the model reads."""
_AT_ONCE: Final = 600
"""Characters in one call: on two cores they take about 50 ms, which the next call has to wait at most."""


class LocalEmbedder:
    """Starts the model at the first call, and again when it has died; share one in a process."""

    base_url: str | None = None
    model = MODEL
    most_characters: int | None = _AT_ONCE

    def __init__(self, paths: Paths, *, server: LocalServer | None = None) -> None:
        self._paths = paths
        self._server = server or LocalServer(paths.logs, alias=MODEL, context_window=_TOKENS, use=EMBEDDINGS)
        self._local = LocalClient(self._server, self._find)
        self._file: Path | None = None

    @property
    def name(self) -> str:
        """Name of the provider in artifacts."""
        return self._local.name

    async def is_here(self) -> bool:
        """Whether the weights are on this machine."""
        return await asyncio.to_thread(are_here, self._paths)

    async def start(self) -> None:
        """Make the file of weights if it is not there, and start the model."""
        client = await self._local.ready()
        await client.prepare()

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        """Return a vector for each text; see `Embedder.embed`."""
        client = await self._local.ready()
        async with self._local.watch_exit():
            return await embed_with(client, MODEL, texts, seconds)

    async def aclose(self) -> None:
        """Close the connections and end the child."""
        await self._local.aclose()

    def _find(self) -> Path:
        """Return the weights; they are looked at whenever the child has to be started."""
        if self._file is None or not self._server.is_running:
            self._file = find_weights(self._paths)
        return self._file
