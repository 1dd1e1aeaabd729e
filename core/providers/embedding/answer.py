"""The answer of a `/v1/embeddings` service, which is data from outside: read with bounds, or refused."""

import json
from typing import Any, Final

from core.domain.requests.request import Usage
from core.providers.base import MAX_NAME_LENGTH, MAX_TOKENS
from core.providers.embedding.base import MOST_DIMENSIONS, Embedding, Vector, not_vectors, unit
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
    return Embedding(vectors=tuple(vectors), model=said or model, usage=_usage(answer.get("usage")))


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
    is_count = type(tokens) is int and 0 <= tokens <= MAX_TOKENS
    return Usage(input_tokens=tokens if is_count else None, output_tokens=0 if is_count else None)
