"""The one statement that finds what a query recalls, by words and by meaning (design 15).

Label, chapters and validity are conditions of both of its halves, before their limits. It takes the time that
the candidates take: a word by the beginning of a key, vectors of the chapters asked about alone.
"""

from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.bank.item import ItemAccess, Validation
from core.domain.bank.recall import (
    LEAST_SIMILARITY,
    MOST_CANDIDATES,
    MOST_WITH_A_WORD,
    Candidate,
    Query,
)
from core.domain.ids import ItemId
from db.bank.validity import counts
from db.bank.vectors import BANK_VECTOR, HalfVector, text_of
from db.rows.bank_mapping import to_item
from db.tables import BANK_ACCESS, BANK_ITEM, BANK_WORD

_ENGLISH: Final[Any] = sa.literal_column("'pg_catalog.english_stem'::regdictionary")
_SETTINGS: Final = select(
    # Starting workers and compiling take longer than the work, and play may need the other processor.
    func.set_config("max_parallel_workers_per_gather", "0", True),
    func.set_config("jit", "off", True),
)


async def read_candidates(connection: AsyncConnection, query: Query, *, has_vectors: bool) -> list[Candidate]:
    """Return the candidates of a query, in no order."""
    await connection.execute(_SETTINGS)
    by_meaning = has_vectors and query.vector is not None
    rows = await connection.execute(_statement(by_meaning=by_meaning), _values(query))
    return [
        Candidate(
            item=to_item(row._mapping),
            score=row.score,
            words=tuple(sorted(set(row.found_words or ()))),
            similarity=None if row.distance is None else 1 - row.distance,
            access=None if row.last_accessed is None else _access(row),
        )
        for row in rows
    ]


def _access(row: Any) -> ItemAccess:
    return ItemAccess(
        item_id=ItemId(row.item_id), access_count=row.access_count, last_accessed=row.last_accessed
    )


def _values(query: Query) -> dict[str, object]:
    """Return the parameters of the statement."""
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
        "model": query.model,
        "vector": text_of(query.vector or ()),
    }


@cache
def _statement(*, by_meaning: bool) -> Select[Any]:
    """Return the statement; it is built once, which takes longer than it runs."""
    scope = _scope()
    halves = [_by_words(scope)]
    if by_meaning:
        halves.append(_by_meaning(scope))
    both = sa.union_all(*(select(half) for half in halves)).subquery("both")
    found = (
        select(
            both.c.session_id,
            both.c.item_id,
            func.max(both.c.score).label("score"),
            func.max(both.c.found_words).label("found_words"),
            func.max(both.c.distance).label("distance"),
        )
        .group_by(both.c.session_id, both.c.item_id)
        .subquery("found")
    )
    access = (BANK_ACCESS.c.session_id == sa.bindparam("asks", type_=sa.Uuid)) & (
        BANK_ACCESS.c.item_id == found.c.item_id
    )
    return (
        select(BANK_ITEM, found.c.score, found.c.found_words, found.c.distance, BANK_ACCESS.c.last_accessed)
        .add_columns(BANK_ACCESS.c.access_count)
        .select_from(found)
        .join(
            BANK_ITEM,
            sa.and_(BANK_ITEM.c.session_id == found.c.session_id, BANK_ITEM.c.item_id == found.c.item_id),
        )
        .outerjoin(BANK_ACCESS, access)
    )


def _scope() -> Any:
    """Return the chapters asked about, as rows."""
    return _rows(
        "asked",
        ("session_id", "sessions", sa.Uuid()),
        ("mask", "masks", sa.Integer()),
        ("before", "befores", sa.Integer()),
        ("now", "nows", sa.Integer()),
    )


def _rows(name: str, *columns: tuple[str, str, Any]) -> Any:
    """Return rows whose columns are arrays among the parameters."""
    arrays = [
        sa.cast(sa.bindparam(parameter, type_=ARRAY(kind)), ARRAY(kind)) for _, parameter, kind in columns
    ]
    named = [sa.column(own, kind) for own, _, kind in columns]
    return func.unnest(*arrays).table_valued(*named, name=name).render_derived()


def _by_words(scope: Any) -> Any:
    """Return the items that have some of the words, and how well these fit: a rare word counts more."""
    sought = _rows(
        "sought",
        ("word", "words", sa.Text()),
        ("weight", "weights", sa.Float()),
        ("is_name", "are_names", sa.Boolean()),
    )
    stem = func.ts_lexize(_ENGLISH, sought.c.word, type_=ARRAY(sa.Text))[1]
    stems = select(sought.c.word, sought.c.weight, stem.label("stem"))
    names = select(sought.c.word, sought.c.weight, sought.c.word).where(sought.c.is_name)
    every = sa.union_all(stems, names).subquery("every")
    lexeme = (
        select(every.c.stem, func.min(every.c.word).label("word"), func.max(every.c.weight).label("weight"))
        .where(every.c.stem.is_not(None))
        .group_by(every.c.stem)
        .cte("lexeme")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    each = (
        select(BANK_WORD.c.session_id, BANK_WORD.c.item_id)
        .select_from(scope.join(BANK_WORD, BANK_WORD.c.session_id == scope.c.session_id))
        .where(BANK_WORD.c.word == lexeme.c.stem)
        .limit(MOST_WITH_A_WORD + 1)
        .correlate(lexeme)
        .subquery("each")
    )
    # As arrays, which say how many there are: sorting them to count them would take longer.
    has = select(
        func.array_agg(each.c.session_id).label("sessions"), func.array_agg(each.c.item_id).label("ids")
    )
    listed = has.lateral("listed")
    items = func.cardinality(listed.c.ids)
    rarity = func.ln(1 + sa.bindparam("size", type_=sa.Float) / (items + 0.5))
    one = (
        func.unnest(listed.c.sessions, listed.c.ids)
        .table_valued(sa.column("session_id", sa.Uuid), sa.column("item_id", sa.Uuid), name="one")
        .render_derived()
    )
    hit = (
        select(one.c.session_id, one.c.item_id, rarity.label("rarity"))
        .select_from(listed.join(one, sa.true()))
        .where(items <= MOST_WITH_A_WORD)
        .offset(0)  # or the server takes the arrays along, and sorts them
        .lateral("hit")
    )
    scored = (
        select(
            hit.c.session_id,
            hit.c.item_id,
            func.sum(lexeme.c.weight * hit.c.rarity).label("score"),
            func.array_agg(lexeme.c.word).label("found_words"),
        )
        .select_from(lexeme.join(hit, sa.true()))
        .group_by(hit.c.session_id, hit.c.item_id)
        .order_by(sa.desc("score"), hit.c.item_id.desc())
        .subquery("scored")
    )
    distance = sa.null().cast(sa.Float).label("distance")
    return (
        select(scored.c.session_id, scored.c.item_id, scored.c.score, scored.c.found_words, distance)
        .select_from(scored.join(_allowed(scored.c, scope, "by_words"), sa.true()))
        .order_by(scored.c.score.desc(), scored.c.item_id.desc())
        .limit(MOST_CANDIDATES)
        .cte("words")
    )


def _by_meaning(scope: Any) -> Any:
    """Return the items that are nearest by meaning, with their distances."""
    wanted = sa.cast(sa.bindparam("vector", type_=sa.Text), HalfVector())
    distance = BANK_VECTOR.c.embedding.op("<=>", return_type=sa.Float)(wanted)
    near = (
        select(BANK_VECTOR.c.session_id, BANK_VECTOR.c.item_id, distance.label("distance"))
        .select_from(scope.join(BANK_VECTOR, BANK_VECTOR.c.session_id == scope.c.session_id))
        .where(BANK_VECTOR.c.model == sa.bindparam("model"))
        .order_by(sa.text("distance"), BANK_VECTOR.c.item_id.desc())
        .subquery("near")
    )
    score, words = sa.null().cast(sa.Float).label("score"), sa.null().cast(ARRAY(sa.Text))
    return (
        select(near.c.session_id, near.c.item_id, score, words.label("found_words"), near.c.distance)
        .select_from(near.join(_allowed(near.c, scope, "by_meaning"), sa.true()))
        .where(near.c.distance <= 1 - LEAST_SIMILARITY)
        .order_by(near.c.distance, near.c.item_id.desc())
        .limit(MOST_CANDIDATES)
        .cte("meaning")
    )


def _allowed(found: Any, scope: Any, name: str) -> Any:
    """Return one row for an item that may be found, and none for another.

    It is looked up for one found item after the other, the best first, until there are enough of them: most
    are never looked at. The limit of its own is what keeps the server to that.
    """
    item = BANK_ITEM.alias(name)
    return (
        select(sa.literal(1).label("is_allowed"))
        .select_from(scope.join(item, scope.c.session_id == item.c.session_id))
        .where(item.c.session_id == found.session_id, item.c.item_id == found.item_id)
        .where(_is_asked(item.c, scope.c), counts(item.c))
        .limit(1)
        .lateral(f"{name}_allowed")
    )


def _is_asked(item: Any, scope: Any) -> ColumnElement[bool]:
    """Return the condition of `core.domain.bank.recall.may_be_found`."""
    # An item of a chunk has the number of its last prompt; its proof may be older.
    first_proof = item.evidence[(0, "prompt_index")].as_integer()
    begins = func.coalesce(first_proof, item.prompt_index)
    is_kept = item.is_pinned | (item.validation == Validation.CONFIRMED.value)
    return sa.and_(
        item.label.op("&")(scope.mask) == scope.mask,
        or_(scope.before.is_(None), begins <= scope.before, item.take.is_(None), item.is_by_gm),
        or_(item.expires_at.is_(None), item.expires_at >= scope.now, is_kept),
    )
