"""Any service that answers `POST /v1/embeddings` in OpenAI's form, by its account's client (design 18)."""

import asyncio
from collections.abc import Sequence

from core.config.models.accounts import labelled
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.embedding.answer import read_embedding
from core.providers.embedding.base import (
    MOST_CHARACTERS,
    SHORTER,
    Embedding,
    checked_count,
    not_vectors,
    shortened,
)
from core.providers.openai.provider import OpenAIProvider


class ServiceEmbedder:
    """Makes vectors by a model of one account; `client` has its address, key and headers."""

    most_characters: int | None = None

    def __init__(self, client: OpenAIProvider, model: str, account: str) -> None:
        self._client = client
        self._asked = model
        self._account = account
        self._dimensions: int | None = None

    @property
    def name(self) -> str:
        """Name of the provider in artifacts."""
        return self._client.name

    @property
    def model(self) -> str:
        """The name that vectors are stored with: the model as it is chosen."""
        return labelled(self._account, self._asked)

    @property
    def dimensions(self) -> int | None:
        """Length of a vector, once the service has answered."""
        return self._dimensions

    @property
    def base_url(self) -> str | None:
        """The address, normalised; None for one on this machine."""
        return self._client.base_url

    async def is_here(self) -> bool:
        """Whether it can be asked: always."""
        return True

    async def start(self) -> None:
        """Load what the first call needs; nothing is sent."""
        await self._client.prepare()

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        """Return a vector for each text; see `Embedder.embed`. Consent is the gateway's to check."""
        made = await embed_with(self._client, self._asked, texts, seconds)
        found = len(made.vectors[0])
        if self._dimensions not in (None, found):
            raise not_vectors(f"vectors of {found:,} numbers, and before of {self._dimensions:,}")
        self._dimensions = found
        return made

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


async def embed_with(client: OpenAIProvider, model: str, texts: Sequence[str], seconds: float) -> Embedding:
    """Return a vector for each text, cut shorter and shorter while the model finds one too long."""
    checked_count(texts)
    for most in (MOST_CHARACTERS, *SHORTER):
        cut = [shortened(text, most) for text in texts]
        try:
            body = await client.embeddings(cut, model, seconds)
        except ProviderError as error:
            if error.code is not ErrorCode.LLM_CONTEXT_OVERFLOW or most == SHORTER[-1]:
                raise
        else:
            return await asyncio.to_thread(read_embedding, body, len(texts), model)
    raise AssertionError("the last length returns or raises")
