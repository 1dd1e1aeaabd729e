"""Any service that answers `POST /v1/embeddings` in OpenAI's form, by its account's client (design 18).

The answer is data from outside: read with bounds, or refused.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from core.config.models.accounts import labelled
from core.domain.bank.recall import Vector
from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.base import MAX_NAME_LENGTH, MAX_TOKENS, ProviderError
from core.providers.embedding.base import (
    MOST_CHARACTERS,
    MOST_DIMENSIONS,
    SHORTER,
    Embedding,
    checked_count,
    not_vectors,
    shortened,
    unit,
)
from core.providers.openai.chunks import billed_of
from core.providers.openai.provider import OpenAIProvider
from core.text.cleaning import clean_line

_LARGEST: Final = 1e30
"""Bound of a vector's numbers; the square of it is still finite."""


def read_embedding(body: bytes, count: int, model: str) -> Embedding:
    """Return what an answer to `count` texts says; raise ProviderError. Slow for many texts: use a thread."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise not_vectors("something that is not JSON") from None
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise not_vectors("no list of vectors")
    if len(items) != count:
        raise not_vectors(f"{len(items):,} vectors for {count:,} texts")
    vectors = _in_order([_vector(item) for item in items], items)
    if len({len(vector) for vector in vectors}) != 1:
        raise not_vectors("vectors of different lengths")
    named = answer.get("model")
    said = clean_line(named)[:MAX_NAME_LENGTH] if isinstance(named, str) else ""
    usage = answer.get("usage")
    return Embedding(
        vectors=tuple(vectors), model=said or model, usage=_usage(usage), billed=billed_of(usage)
    )


def _in_order(vectors: list[Vector], items: list[Any]) -> list[Vector]:
    """Return the vectors in the order of the texts, which a service may not keep but numbers."""
    numbers = [item.get("index", place) for place, item in enumerate(items)]
    if any(type(number) is not int for number in numbers) or sorted(numbers) != [*range(len(items))]:
        raise not_vectors("vectors that do not say which texts they are of")
    ordered = sorted(zip(numbers, vectors, strict=True), key=lambda pair: pair[0])
    return [vector for _, vector in ordered]


def _vector(item: Any) -> Vector:
    numbers = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MOST_DIMENSIONS:
        raise not_vectors(f"something that is no vector of 1 to {MOST_DIMENSIONS:,} numbers")
    if any(type(number) not in (int, float) or not -_LARGEST <= number <= _LARGEST for number in numbers):
        raise not_vectors("a vector with something in it that is no number")
    try:
        return unit(numbers)
    except ValueError:
        raise not_vectors("a vector that is nothing but zeros") from None


def _usage(found: Any) -> Usage:
    """Return the tokens that were read; an embedding model writes none."""
    tokens = found.get("prompt_tokens") if isinstance(found, dict) else None
    is_count = type(tokens) is int and 0 < tokens <= MAX_TOKENS
    return Usage(input_tokens=tokens if is_count else None, output_tokens=0 if is_count else None)


class ServiceEmbedder:
    """Makes vectors by a model of one account; `client` has its address, key and headers."""

    most_characters: int | None = None

    def __init__(self, client: OpenAIProvider, model: str, account: str) -> None:
        self._client = client
        self._asked = model
        self._account = account
        self._dimensions: int | None = None
        """Length of a vector, once the service has answered."""

    @property
    def name(self) -> str:
        """Name of the provider in artifacts."""
        return self._client.name

    @property
    def model(self) -> str:
        """The name that vectors are stored with: the model as it is chosen."""
        return labelled(self._account, self._asked)

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
