"""Vectors without a model: words and parts of words by their hash, and synonyms by a list (design 8).

The offline demo and the double that tests use. Texts that share words are near each other, as are texts that
share synonyms of the script's; the same text has the same vector on every machine.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from core.domain.bank.recall import Vector
from core.domain.requests.request import Usage
from core.providers.embedding.base import Embedding, checked_count, shortened, unit

_DIMENSIONS: Final = 256
_WORD: Final = re.compile(r"\w+")
_CHARACTERS_PER_TOKEN: Final = 4
_PART: Final = 3
"""Letters of a part of a word."""
_WEIGHT_OF_PART: Final = 0.3
_SHORT_WORD: Final = 3
_WEIGHT_OF_SHORT: Final = 0.2
"""Short words are mostly those that any text has."""


class ScriptedEmbedder:
    """Makes vectors by a rule; the words of each group of `synonyms` count as one word."""

    name = "scripted"
    base_url: str | None = None
    most_characters: int | None = None

    def __init__(self, synonyms: Sequence[Sequence[str]] = ()) -> None:
        self._first = {word.casefold(): group[0].casefold() for group in synonyms for word in group}
        listed = json.dumps(sorted(self._first.items()))
        self.model = f"scripted-{hashlib.sha256(listed.encode()).hexdigest()[:8]}"

    async def is_here(self) -> bool:
        """Whether it can be asked: always."""
        return True

    async def start(self) -> None:
        """Nothing has to be started."""

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        """Return a vector for each text; see `Embedder.embed`."""
        checked_count(texts)
        cut = [shortened(text) for text in texts]
        tokens = sum(len(text) // _CHARACTERS_PER_TOKEN + 1 for text in cut)
        return Embedding(
            vectors=tuple(map(self._vector, cut)),
            model=self.model,
            usage=Usage(input_tokens=tokens, output_tokens=0),
        )

    async def aclose(self) -> None:
        """Nothing is held."""

    def _vector(self, text: str) -> Vector:
        numbers = [0.0] * _DIMENSIONS
        for feature, weight in self._features(text):
            place, sign = _hashed(feature)
            numbers[place] += sign * weight
        return unit(numbers) if any(numbers) else (1.0, *numbers[1:])

    def _features(self, text: str) -> Iterator[tuple[str, float]]:
        for found in _WORD.findall(text.casefold()):
            word = self._first.get(found, found)
            yield word, 1.0 if len(word) > _SHORT_WORD else _WEIGHT_OF_SHORT
            marked = f"<{word}>"
            for begin in range(len(marked) - _PART):
                yield marked[begin : begin + _PART], _WEIGHT_OF_PART


@lru_cache(maxsize=4_096)
def _hashed(feature: str) -> tuple[int, float]:
    """Return the place and the sign of a feature."""
    number = int.from_bytes(hashlib.blake2b(feature.encode("utf-8"), digest_size=4).digest())
    return number % _DIMENSIONS, 1.0 if number & (1 << 31) else -1.0
