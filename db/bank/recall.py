"""The two statements that read what an input draws on of the memory bank (design 15).

One finds items by meaning; the other items by words and those that the GM kept, and
the states of characters. They run beside each other. Label, chapters and validity are conditions of each of
their parts, before its limit. They take the time that the candidates take: a word by the beginning of a key,
vectors of the chapters asked about alone.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Select, select

from core.domain.bank.item import Item, ItemAccess
from core.domain.bank.recall import (
    COMPARED,
    KEPT_EVERY,
    LEAST_CANDIDATES,
    PINNED_EVERY,
    Candidate,
    Query,
    QueryWord,
    Vector,
)
from core.domain.session.language import Language
from core.storage.bank_store import Sheets
from db.bank import recall_parts as parts_of
from db.bank.item_reader import FoundRow
from db.bank.parameters import array_of, key_of, time_of
from db.bank.vectors import text_of
from db.tables import BANK_ACCESS

_STATES, _WORDS, _PINNED, _KEPT, _SPANS = "states", "words", "pinned", "kept", "spans"
"""The parts of the statement that does not look for the meaning: what is kept is looked for by it."""


class RecallResult:
    """Gathers what both statements found: each adds its rows when it is back, while the other one may run."""

    def __init__(self) -> None:
        self._states: list[Item] = []
        self._found: dict[bytes, Candidate] = {}

    def add(
        self, rows: Sequence[FoundRow], items: Sequence[Item | None], words: Sequence[QueryWord] = ()
    ) -> None:
        """Add the rows of a statement, the item of each, and the words that were looked for.

        An item is None where it was deleted meanwhile.
        """
        found = self._found
        for row, item in zip(rows, items, strict=True):
            key, version, _, score, bits, distance, farness, is_state, last, count = row
            if item is None or (item.version != version and item.is_out):  # taken out since it was found
                continue
            if is_state:
                self._states.append(item)
                continue
            similarity = None if distance is None else 1 - distance
            nearness = None if farness is None else -farness
            hits = _hits(bits, words) if bits else ()
            access = None
            if last is not None:
                access = ItemAccess(item_id=item.id, access_count=count, last_accessed=last)
            made, known = Candidate(item, score, hits, similarity, nearness, access), found.get(key)
            found[key] = made if known is None else _joined(made, known)

    @property
    def candidates(self) -> Sequence[Candidate]:
        """Return the items that were found, each once."""
        return list(self._found.values())

    def states(self, sheets: Sheets) -> Sequence[Item]:
        """Return the states that were read, in the order of `sheets` and of play."""
        places = {session_id: place for place, (session_id, _) in enumerate(sheets)}
        return sorted(self._states, key=lambda one: (places[one.session_id], one.prompt_index, one.id))


def meaning_statement(query: Query, by_index: int) -> Select[Any]:
    """Return the statement that finds items by meaning.

    `by_index` is how many numbers the vectors of their index have, where that is used.
    """
    return _meaning(by_index, bool(query.spans))


def lookup_statement(sheets: Sheets, query: Query | None, *, by_meaning: bool) -> Select[Any] | None:
    """Return the statement for states, and items by words or kept by the GM; None for one of nothing.

    With `by_meaning` what is kept is looked for by its meaning too.
    """
    parts = {_STATES} if sheets else set[str]()
    languages: tuple[Language, ...] = ()
    if query is not None and query.scopes:
        parts |= {_WORDS} if query.words else set()
        if query.is_for_input:
            parts.add(_KEPT if by_meaning else _PINNED)
            parts |= {_SPANS} if by_meaning and query.spans else set()
        languages = tuple(sorted({one.language for one in query.scopes}))
    return _lookup(frozenset(parts), languages) if parts else None


def _joined(one: Candidate, other: Candidate) -> Candidate:
    """Return an item that two parts of a statement found, or both statements, of which one may be newer."""
    older, newer = (one, other) if one.item.updated_at < other.item.updated_at else (other, one)
    return Candidate(
        newer.item,
        _first(newer.score, older.score),
        newer.words or older.words,
        _first(newer.similarity, older.similarity),
        _first(newer.nearness, older.nearness),
        newer.access or older.access,
    )


def _first(value: float | None, other: float | None) -> float | None:
    return other if value is None else value


def _hits(bits: int, words: Sequence[QueryWord]) -> tuple[str, ...]:
    """Return the words that an item has: the bits of their places are set."""
    return tuple(sorted({one.word for place, one in enumerate(words) if bits >> place & 1}))


@lru_cache(4)
def _as_text(vector: Vector) -> str:
    """Return the vector of a query as pgvector reads it: all characters at one prompt ask with the same."""
    return text_of(vector)


def values_of(query: Query) -> dict[str, object]:
    """Return the parameters of both statements that a query gives, but for its words."""
    return {
        "asks": query.session_id,
        **parts_of.scope_values(query.scopes),
        "model": query.model,
        "vector": _as_text(query.vector or ()),
        **parts_of.span_values(query.spans),
        "most": query.candidates,
        "most_compared": COMPARED * query.candidates,
        "most_pinned": 1 + query.limit // PINNED_EVERY,
        "most_kept": 1 + query.limit // PINNED_EVERY + query.limit // KEPT_EVERY,
    }


def lookup_values(sheets: Sheets, query: Query | None, words: Sequence[QueryWord]) -> dict[str, object]:
    """Return the parameters that the statement for states and words has beside these."""
    values: dict[str, object] = {
        "charts": [one for one, _ in sheets],
        "abouts": [int(slot) for _, slot in sheets],
    }
    if query is None:
        return {**values, "asks": None}
    return {
        **values,
        "size": float(query.size),
        "words": array_of(one.word for one in words),
        "weights": array_of(one.weight for one in words),
        "are_names": array_of(one.is_name for one in words),
        "bits": array_of(1 << place for place in range(len(words))),
        "most_by_words": LEAST_CANDIDATES if query.vector else query.candidates,
    }


@lru_cache(64)
def _lookup(parts: frozenset[str], languages: tuple[Language, ...]) -> Select[Any]:
    """Return the statement with these parts; it is built once, which takes longer than it runs."""
    scope = parts_of.scope_rows()
    every = [parts_of.by_words(scope, languages)] if _WORDS in parts else []
    if parts & {_PINNED, _KEPT}:
        kept = parts_of.kept_rows(scope, by_meaning=_KEPT in parts)
        every.append(parts_of.pinned(scope, kept, has_spans=_SPANS in parts))
        every += [parts_of.kept(scope, kept, has_spans=_SPANS in parts)] if _KEPT in parts else []
    every += [parts_of.states()] if _STATES in parts else []
    return _found(every)


@lru_cache(8)
def _meaning(by_index: int, has_spans: bool) -> Select[Any]:
    """Return the statement that finds items by meaning."""
    scope = parts_of.scope_rows()
    if by_index:
        return _found([parts_of.by_index(scope, by_index, has_spans=has_spans)])
    return _found([parts_of.by_meaning(scope, has_spans=has_spans)])


def _found(every: Sequence[Any]) -> Select[Any]:
    """Return the query for the items of these parts, with how often the asking chapter recalled each."""
    found = sa.union_all(*(select(part) for part in every)).subquery("found")
    access = (BANK_ACCESS.c.session_id == sa.bindparam("asks", type_=sa.Uuid)) & (
        BANK_ACCESS.c.item_id == found.c.item_id
    )
    return select(
        key_of(found.c),
        found.c.version,
        time_of(found.c).label("updated_at"),
        found.c.score,
        found.c.found_words,
        found.c.distance,
        found.c.farness,
        found.c.is_state,
        BANK_ACCESS.c.last_accessed,
        BANK_ACCESS.c.access_count,
    ).select_from(found.outerjoin(BANK_ACCESS, access))
