"""The one statement that reads what an input draws on of the memory bank (design 15).

It finds the items of a query: by words, by meaning, and those that the GM kept. Label, chapters and
validity are conditions of each of these parts, before their limits. It takes the time that the candidates
take: a word by the beginning of a key, vectors of the chapters asked about alone. The states of characters
come with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from psycopg.types.numeric import Int8
from sqlalchemy import Select, func, select

from core.bank_store import Sheets
from core.domain.bank.item import Item, ItemAccess
from core.domain.bank.recall import (
    KEPT_EVERY,
    LEAST_CANDIDATES,
    PINNED_EVERY,
    Candidate,
    Query,
    Sought,
)
from core.domain.session.language import Language
from db.bank import recall_parts as parts_of
from db.bank.item_reader import FoundRow
from db.bank.vectors import text_of
from db.tables import BANK_ACCESS

_STATES, _WORDS, _MEANING, _KEPT = "states", "words", "meaning", "kept"
"""The parts of the statement."""


def statement_of(
    sheets: Sheets, query: Query | None, *, has_vectors: bool, by_index: int = 0
) -> tuple[Select[Any], Mapping[str, object]] | None:
    """Return the statement with the values of its parameters; None where nothing could be found.

    `by_index` is how many numbers the vectors of their index have, where that is used.
    """
    parts = {_STATES} if sheets else set[str]()
    values: dict[str, object] = {
        "charts": [one for one, _ in sheets],
        "abouts": [int(slot) for _, slot in sheets],
        "asks": None,
    }
    if query is not None and query.scopes:
        parts |= {_WORDS} if query.words else set()
        parts |= {_MEANING} if query.vector is not None and has_vectors else set()
        parts |= {_KEPT} if query.is_for_input else set()
        values |= _values(query)
    languages = () if query is None else tuple(sorted({one.language for one in query.scopes}))
    return (_statement(frozenset(parts), languages, by_index), values) if parts else None


def drawn_of(
    rows: Iterable[FoundRow], items: Mapping[bytes, Item], sheets: Sheets, query: Query | None
) -> tuple[Sequence[Item], Sequence[Candidate]]:
    """Return the states that were read, in the order of `sheets` and of play, and the candidates in none."""
    words = () if query is None else query.words
    states: list[Item] = []
    found: dict[bytes, Candidate] = {}
    for key, _, _, score, bits, distance, is_state, last, count in rows:
        item = items.get(key)
        if item is None:  # it was deleted meanwhile
            continue
        if is_state:
            states.append(item)
            continue
        similarity = None if distance is None else 1 - distance
        known = found.get(key)
        if known is not None:  # by another part of the statement
            score, similarity = _first(score, known.score), _first(similarity, known.similarity)
        hits = _hits(bits, words) if bits else () if known is None else known.words
        access = None if last is None else ItemAccess(item_id=item.id, access_count=count, last_accessed=last)
        found[key] = Candidate(item, score, hits, similarity, access)
    places = {session_id: place for place, (session_id, _) in enumerate(sheets)}
    states.sort(key=lambda one: (places[one.session_id], one.prompt_index, one.id))
    return states, list(found.values())


def _first(value: float | None, other: float | None) -> float | None:
    return other if value is None else value


def _hits(bits: int, words: Sequence[Sought]) -> tuple[str, ...]:
    """Return the words that an item has: the bits of their places are set."""
    return tuple(sorted({one.word for place, one in enumerate(words) if bits >> place & 1}))


def _values(query: Query) -> dict[str, object]:
    """Return the parameters of the statement that a query gives."""
    return {
        "asks": query.session_id,
        **parts_of.scope_values(query.scopes),
        "size": float(query.size),
        "words": [one.word for one in query.words],
        "weights": [one.weight for one in query.words],
        "are_names": [one.is_name for one in query.words],
        "bits": [Int8(1 << place) for place in range(len(query.words))],
        "model": query.model,
        "vector": text_of(query.vector or ()),
        "most": query.candidates,
        "most_by_words": LEAST_CANDIDATES if query.vector else query.candidates,
        "most_pinned": 1 + query.limit // PINNED_EVERY,
        "most_kept": 1 + query.limit // PINNED_EVERY + query.limit // KEPT_EVERY,
    }


@lru_cache(64)
def _statement(parts: frozenset[str], languages: tuple[Language, ...], by_index: int) -> Select[Any]:
    """Return the statement; it is built once, which takes longer than it runs."""
    scope = parts_of.scope_rows()
    every = [parts_of.by_words(scope, languages)] if _WORDS in parts else []
    if _MEANING in parts:
        every.append(parts_of.by_index(scope, by_index) if by_index else parts_of.by_meaning(scope))
    if _KEPT in parts:
        kept = parts_of.kept_rows(scope, by_meaning=_MEANING in parts)
        every.append(parts_of.pinned(scope, kept))
        every += [parts_of.kept(scope, kept)] if _MEANING in parts else []
    every += [parts_of.states()] if _STATES in parts else []
    found = sa.union_all(*(select(part) for part in every)).subquery("found")
    access = (BANK_ACCESS.c.session_id == sa.bindparam("asks", type_=sa.Uuid)) & (
        BANK_ACCESS.c.item_id == found.c.item_id
    )
    # Ids and times as they are stored: to be made values of the program they would take longer than all else.
    key = func.uuid_send(found.c.session_id).concat(func.uuid_send(found.c.item_id))
    return select(
        sa.type_coerce(key, sa.LargeBinary).label("key"),
        found.c.version,
        func.timestamptz_send(found.c.updated_at, type_=sa.LargeBinary).label("updated_at"),
        found.c.score,
        found.c.found_words,
        found.c.distance,
        found.c.is_state,
        BANK_ACCESS.c.last_accessed,
        BANK_ACCESS.c.access_count,
    ).select_from(found.outerjoin(BANK_ACCESS, access))
