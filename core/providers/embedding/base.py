"""The seam between the program and whatever makes vectors of texts (design 15)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Protocol

from core.config.sections import MOST_TEXTS
from core.domain.bank.recall import MOST_SPANS, Vector
from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.base import ProviderError
from core.text.analysis.clauses import clauses_of, spans_of
from core.text.cleaning import clean_line, is_blank

MOST_DIMENSIONS: Final = 8_192
"""Numbers in one vector; services give up to 4,096."""
MOST_WORDS: Final = 250
MOST_CHARACTERS: Final = 2_000
"""The bundled model reads 512 tokens, which English prose of this length stays below."""
SHORTER: Final = (500, 160)
"""Characters that a text is cut to when a model found it too long: 160 fit even at three tokens each."""
_SHORTEST: Final = 1e-12
"""Length of a vector that has a direction."""
MOST_CLAUSES: Final = 8
"""A query of more clauses is asked about as a whole."""
_IN_PLACE_OF_NOTHING: Final = "…"
"""Services refuse an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """Result of one call: a vector for each text, in their order."""

    vectors: tuple[Vector, ...]
    model: str
    """The model, as the service names it."""
    usage: Usage = field(default_factory=Usage)
    billed: Decimal | None = None
    """Cost of the call by the service, in US dollars; None where it says nothing."""


class Embedder(Protocol):
    """Something that makes vectors."""

    @property
    def name(self) -> str:
        """`openai`, `local` or `scripted`: what an artifact names."""

    @property
    def model(self) -> str:
        """The name that vectors are stored with: those of two models have nothing to do with each other."""

    @property
    def base_url(self) -> str | None:
        """The address that texts are sent to; None when they do not leave this machine."""

    @property
    def most_characters(self) -> int | None:
        """Preferred characters of one call's texts together; None where that makes no difference.

        Where calls are answered one after the other, a short one lets another in sooner.
        """

    async def is_here(self) -> bool:
        """Whether it can be asked at all, as far as a look shows that sends nothing."""

    async def start(self) -> None:
        """Be ready for the first call, which may take seconds; raise ProviderError."""

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        """Return a vector for each of at most MOST_TEXTS texts; raise ProviderError.

        What is too long is cut; after so many `seconds` it fails.
        """

    async def aclose(self) -> None:
        """Release connections and processes."""


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return the beginning of a text, on one line, of which a vector is made."""
    line = " ".join(clean_line(text[: 4 * most]).split()[:MOST_WORDS])[:most]
    return _IN_PLACE_OF_NOTHING if is_blank(line) else line


def checked_count(texts: Sequence[str]) -> None:
    """Raise ValueError where there are no texts, or too many."""
    if not 0 < len(texts) <= MOST_TEXTS:
        raise ValueError(f"a call has 1 to {MOST_TEXTS} texts, and not {len(texts)}")


def unit(numbers: Iterable[float]) -> Vector:
    """Return the direction of a vector; raise ValueError where it has none, or holds what is no number."""
    found = tuple(numbers)
    length = math.hypot(*found)
    if not math.isfinite(length) or length < _SHORTEST:
        raise ValueError("a vector without a direction")
    return tuple(number / length for number in found)


@dataclass(frozen=True, slots=True)
class QueryTexts:
    """The texts of which the meaning of a query is made."""

    clauses: tuple[str, ...]
    """Their mean is looked for: a vector of the whole covers the subject of most of it, while a question may
    name a person in one clause and a place in another."""
    spans: tuple[str, ...]
    """Each is compared with the parts of names: clauses and what overlaps them."""

    @property
    def every(self) -> tuple[str, ...]:
        """Return each text once."""
        return tuple(dict.fromkeys((*self.clauses, *self.spans)))

    def meaning(self, vectors: Sequence[Vector]) -> tuple[Vector, ...]:
        """Return the vector of the query, then those of its spans, from the vectors of `every`."""
        by_text = dict(zip(self.every, vectors, strict=True))
        return mean_of([by_text[text] for text in self.clauses]), *(by_text[text] for text in self.spans)


def texts_of_query(text: str) -> QueryTexts:
    """Return the texts of a query: its clauses, where these are a few, and its spans."""
    clauses = clauses_of(text)
    clauses = clauses if 1 < len(clauses) <= MOST_CLAUSES else (text,)
    parts = clauses if len(clauses) > 1 else ()
    return QueryTexts(clauses, tuple(dict.fromkeys((*spans_of(text), *parts)))[:MOST_SPANS])


def mean_of(vectors: Sequence[Vector]) -> Vector:
    """Return the direction of the mean of some vectors; the first where they cancel out."""
    if len(vectors) > 1:
        summed = tuple(map(sum, zip(*vectors, strict=True)))
        if math.hypot(*summed) > _SHORTEST:
            return unit(summed)
    return vectors[0]


def not_vectors(what: str) -> ProviderError:
    """Return the error for an answer that cannot be used."""
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        f"The embedding model's service answered with {what}; nothing is lost, and search goes by words.",
        hint="`service` under [embedding] in config.toml says which model is asked, and at which account.",
    )
