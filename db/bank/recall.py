"""The one statement that reads what an input draws on of the memory bank (design 15).

It finds what a query recalls: by words, by meaning, and of what the GM kept. Label, chapters and validity are
conditions of each of these parts, before their limits. It takes the time that the candidates take: a word by
the beginning of a key, vectors of the chapters asked about alone. The states of characters come with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

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
from db.bank import recall_parts as parts_of
from db.bank.vector_index import SETTINGS
from db.bank.vectors import text_of
from db.rows.bank_mapping import to_item
from db.tables import BANK_ACCESS, BANK_ITEM

_STATES, _WORDS, _MEANING, _KEPT = "states", "words", "meaning", "kept"
"""The parts of the statement."""
_FOUND: Final = ("score", "found_words", "distance", "is_state", "is_found")


async def read_by_index(connection: AsyncConnection, *, sheets: Sheets, query: Query) -> Sequence[Any]:
    """Return the rows of the statement, which looks for the nearest vectors in their index."""
    statement = statement_of(sheets, query, has_vectors=True, by_index=len(query.vector or ()))
    await connection.execute(SETTINGS, {"at_once": str(min(max(query.candidates, 100), 1_000))})
    return [] if statement is None else list(await connection.execute(*statement))


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
    return (_statement(frozenset(parts), by_index), values) if parts else None


def drawn_of(
    rows: Iterable[Any], sheets: Sheets, query: Query | None
) -> tuple[Sequence[Item], Sequence[Candidate]]:
    """Return the states that were read, in the order of `sheets` and of play, and the candidates in none."""
    words = () if query is None else query.words
    states: list[Item] = []
    candidates: list[Candidate] = []
    for row in rows:
        item = to_item(row._asdict())
        if row.is_state:
            states.append(item)
        if row.is_found:
            candidates.append(_candidate(item, row, words))
    places = {session_id: place for place, (session_id, _) in enumerate(sheets)}
    states.sort(key=lambda one: (places[one.session_id], one.prompt_index, one.id))
    return states, candidates


def _candidate(item: Item, row: Any, words: Sequence[Sought]) -> Candidate:
    bits = row.found_words or 0
    return Candidate(
        item=item,
        score=row.score,
        words=tuple(sorted({one.word for place, one in enumerate(words) if bits >> place & 1})),
        similarity=None if row.distance is None else 1 - row.distance,
        access=None
        if row.last_accessed is None
        else ItemAccess(item_id=item.id, access_count=row.access_count, last_accessed=row.last_accessed),
    )


def _values(query: Query) -> dict[str, object]:
    """Return the parameters of the statement that a query gives."""
    return {
        "asks": query.session_id,
        "sessions": [one.session_id for one in query.scopes],
        "masks": [one.mask for one in query.scopes],
        "befores": [one.before for one in query.scopes],
        "nows": [one.now for one in query.scopes],
        "size": float(query.size),
        "words": [one.word for one in query.words],
        "weights": [one.weight for one in query.words],
        "are_names": [one.is_name for one in query.words],
        "bits": [1 << place for place in range(len(query.words))],
        "model": query.model,
        "vector": text_of(query.vector or ()),
        "most": query.candidates,
        "most_by_words": LEAST_CANDIDATES if query.vector else query.candidates,
        "most_pinned": 1 + query.limit // PINNED_EVERY,
        "most_kept": 1 + query.limit // PINNED_EVERY + query.limit // KEPT_EVERY,
    }


@cache
def _statement(parts: frozenset[str], by_index: int) -> Select[Any]:
    """Return the statement; it is built once, which takes longer than it runs."""
    scope = parts_of.scope_rows()
    every = [parts_of.by_words(scope)] if _WORDS in parts else []
    if _MEANING in parts:
        every.append(parts_of.by_index(scope, by_index) if by_index else parts_of.by_meaning(scope))
    if _KEPT in parts:
        every.append(parts_of.pinned(scope, by_meaning=_MEANING in parts))
        every += [parts_of.kept(scope)] if _MEANING in parts else []
    every += [parts_of.states()] if _STATES in parts else []
    both = sa.union_all(*(select(part) for part in every)).subquery("both")
    found = (
        select(
            both.c.session_id,
            both.c.item_id,
            func.max(both.c.score).label("score"),
            func.max(both.c.found_words).label("found_words"),
            func.max(both.c.distance).label("distance"),
            func.bool_or(both.c.is_state).label("is_state"),
            func.bool_or(~both.c.is_state).label("is_found"),
        )
        .group_by(both.c.session_id, both.c.item_id)
        .subquery("found")
    )
    access = (BANK_ACCESS.c.session_id == sa.bindparam("asks", type_=sa.Uuid)) & (
        BANK_ACCESS.c.item_id == found.c.item_id
    )
    item = (
        select(BANK_ITEM)
        .where(BANK_ITEM.c.session_id == found.c.session_id, BANK_ITEM.c.item_id == found.c.item_id)
        .offset(0)  # each by its key, however many there are in all
        .lateral("item")
    )
    return (
        select(item, *(found.c[name] for name in _FOUND), BANK_ACCESS.c.last_accessed)
        .add_columns(BANK_ACCESS.c.access_count)
        .select_from(found.join(item, sa.true()).outerjoin(BANK_ACCESS, access))
    )
