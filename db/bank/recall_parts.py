"""The parts of the statement of recall: items by words, by meaning, and those that the GM kept.

Each gives ids with a score or a distance; label, chapters and validity are conditions before its limit.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, BIT

from core.domain.bank.details import ItemKind
from core.domain.bank.recall import LEAST_SIMILARITY, MOST_SPANS, MOST_WITH_A_WORD, Scope
from core.domain.session.language import Language
from db.bank.parameters import array_of, given, rows_of
from db.bank.validity import counts, is_kept
from db.bank.vectors import BANK_VECTOR, HalfVector
from db.tables import BANK_ITEM, BANK_WORD, SESSION

_FARTHEST: Final = 1 - LEAST_SIMILARITY
"""The largest distance that is near enough."""
_SPANS: Final = tuple(f"span_{number}" for number in range(MOST_SPANS))
"""The parameters of the parts of a query."""
_MOST: Final = {"meaning": "most", "kept": "most_kept", "pinned": "most_pinned"}
"""The parameters of how many items a part gives."""


def scope_rows() -> Any:
    """Return the chapters asked about, as rows, each with its newest prompt."""
    asked = rows_of(
        "asked",
        ("session_id", "sessions", sa.Uuid()),
        ("mask", "masks", sa.Integer()),
        ("before", "befores", sa.Integer()),
        ("now", "nows", sa.Integer()),
        ("language", "languages", sa.Text()),
    )
    played = SESSION.c.prompt_index.label("played")
    return (
        select(*asked.c, played)
        .select_from(asked.join(SESSION, SESSION.c.id == asked.c.session_id))
        .cte("scope")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )


def scope_values(scopes: Sequence[Scope]) -> dict[str, object]:
    """Return the parameters of these rows."""
    return {
        "sessions": array_of(one.session_id.hex for one in scopes),
        "masks": array_of(one.mask for one in scopes),
        "befores": array_of(one.before for one in scopes),
        "nows": array_of(one.now for one in scopes),
        "languages": array_of(one.language.value for one in scopes),
    }


def by_words(scope: Any, languages: Sequence[Language]) -> Any:
    """Return the items that have some of the words, and how well these fit: a rare word counts more.

    The words are made in the language of each chapter, as those of its items are; `languages` has each once.
    """
    sought = rows_of(
        "sought",
        ("word", "words", sa.Text()),
        ("weight", "weights", sa.Float()),
        ("is_name", "are_names", sa.Boolean()),
        ("bit", "bits", sa.BigInteger()),
    )
    forms = [_forms(sought, one) for one in languages]
    every = sa.union_all(*(form for both in forms for form in both)).subquery("every")
    of = [func.array_agg(every.c.language).label("languages")] if len(languages) > 1 else []
    lexeme = (
        select(
            every.c.stem, *of, func.min(every.c.bit).label("bit"), func.max(every.c.weight).label("weight")
        )
        .where(every.c.stem.is_not(None))
        .group_by(every.c.stem)
        .cte("lexeme")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    chapters = select(scope.c.session_id)
    if of:
        chapters = chapters.where(scope.c.language == func.any(lexeme.c.languages)).correlate(lexeme)
    # As an array of chapters, of which the server looks up each in the index; as rows of them it would take
    # several times as long for a word that most items have.
    is_there = BANK_WORD.c.session_id == func.any(func.array(chapters.scalar_subquery()))
    having = (
        select(BANK_WORD.c.session_id, BANK_WORD.c.item_id)
        .where(is_there, BANK_WORD.c.word == lexeme.c.stem)
        .correlate(lexeme)
    )
    # They are counted first and read again, since most words of a prompt are in too many.
    some = having.limit(MOST_WITH_A_WORD + 1).subquery("some")
    counted = (
        select(func.count().label("number"))
        .select_from(some)
        .having(func.count() <= MOST_WITH_A_WORD)
        .lateral("counted")
    )
    rarity = func.ln(1 + sa.bindparam("size", type_=sa.Float) / (counted.c.number + 0.5))
    hit = having.offset(0).lateral("hit")
    scored = (
        select(
            hit.c.session_id,
            hit.c.item_id,
            func.sum(lexeme.c.weight * rarity).label("score"),
            func.bit_or(lexeme.c.bit).label("found_words"),
        )
        .select_from(lexeme.join(counted, sa.true()).join(hit, sa.true()))
        .group_by(hit.c.session_id, hit.c.item_id)
        .order_by(sa.desc("score"), hit.c.item_id.desc())
        .subquery("scored")
    )
    distance = _nothing("distance")
    allowed = _allowed(scored.c, scope, "by_words")
    return (
        select(scored.c.session_id, scored.c.item_id, *_version(allowed), scored.c.score)
        .add_columns(scored.c.found_words, distance, _nothing("farness"), sa.false().label("is_state"))
        .select_from(scored.join(allowed, sa.true()))
        .order_by(scored.c.score.desc(), scored.c.item_id.desc())
        .limit(given("most_by_words", sa.Integer()))
        .cte("words")
    )


def stem_of(word: Any, config: ColumnElement[Any]) -> Any:
    """Return a word as those of items are made in a language; NULL for one that tells nothing."""
    return func.tsvector_to_array(func.to_tsvector(config, word), type_=ARRAY(sa.Text))[1]


def _forms(sought: Any, language: Language) -> tuple[Any, Any]:
    """Return the words as a language makes them, and the names as they are written."""
    named = sa.literal_column(f"'{language.value}'", sa.Text()).label("language")
    words = select(sought.c.bit, sought.c.weight, named)
    config: ColumnElement[Any] = sa.literal_column(f"'pg_catalog.{language.value}'::regconfig")
    stems = words.add_columns(stem_of(sought.c.word, config).label("stem"))
    return stems, words.add_columns(sought.c.word).where(sought.c.is_name)


def by_meaning(scope: Any, *, has_spans: bool) -> Any:
    """Return the items that are nearest by meaning, with their distances.

    Of as many as are compared with the spans those come first that these fit. Others are looked at only where
    too few of them may be found, such as older values of a state: sorting all of a long chapter and asking of
    each whether it may be found would take longer than the distances.
    """
    distance = _distance()
    each = (
        select(BANK_VECTOR.c.session_id, BANK_VECTOR.c.item_id, distance.label("distance"), *_name_parts())
        .where(BANK_VECTOR.c.session_id == scope.c.session_id, _is_of_model(), _has_its_length())
        # The server fills a page from its end, so that the last key first reads memory in its order, which
        # processors fetch ahead: that takes a third less. `RecallConnection` rules out the scans that would
        # need a sort for it.
        .order_by(BANK_VECTOR.c.item_id.desc())
        .offset(0)  # each chapter by the beginning of the key, and each distance once
        .lateral("each_vector")
    )
    near = (
        select(*each.c)
        .select_from(scope.join(each, sa.true()))
        .where(each.c.distance <= _FARTHEST)  # before they are sorted: most are too far
        .order_by(each.c.distance, each.c.item_id.desc())
    )
    compared = given("most_compared", sa.Integer())
    nearest = near.limit(compared).cte("nearest").prefix_with("MATERIALIZED", dialect="postgresql")
    farness = _farness(nearest.c, has_spans=has_spans).label("farness")
    fitting = select(*nearest.c, farness).order_by(farness, nearest.c.item_id.desc()).subquery("fitting")
    are_more = select(func.count()).select_from(nearest).scalar_subquery() == compared
    farther = select(near.offset(compared).subquery("rest")).where(are_more).subquery("farther")
    # The server begins with the second one only where the first has too few rows and there are more.
    every = sa.union_all(
        select(fitting), select(*farther.c, _farness(farther.c, has_spans=has_spans).label("farness"))
    ).subquery("every")
    findable = _findable(every, scope, "meaning", every.c.farness)
    found = findable.limit(given("most", sa.Integer())).subquery("found_meaning")
    return _part(found).cte("meaning")


def by_index(scope: Any, dimensions: int, *, has_spans: bool) -> Any:
    """Return the items that are nearest by meaning, as the index has them one after the other."""
    # The number is part of the statement: the index has vectors of this length alone.
    length: ColumnElement[int] = sa.literal_column(str(dimensions))
    half = HalfVector(dimensions)
    distance = sa.cast(BANK_VECTOR.c.embedding, half).op("<=>", return_type=sa.Float)(given("vector", half))
    near = (
        select(BANK_VECTOR.c.session_id, BANK_VECTOR.c.item_id, distance.label("distance"), *_name_parts())
        .where(func.vector_dims(BANK_VECTOR.c.embedding) == length, _is_of_model())
        .order_by(sa.text("distance"))
        .subquery("near")
    )
    return _nearest(near, scope, "meaning", has_spans=has_spans, farthest=_FARTHEST)


def kept_rows(scope: Any, *, by_meaning: bool) -> Any:
    """Return the items that the GM pinned or confirmed, with their distances; NULL for one without a vector.

    Without `by_meaning` they are what is pinned alone.
    """
    item = BANK_ITEM.alias("kept_item")
    there = (
        select(item.c.session_id, item.c.item_id, item.c.prompt_index, item.c.is_pinned)
        .where(item.c.session_id == scope.c.session_id, is_kept(item.c))
        .where(*(() if by_meaning else (item.c.is_pinned,)))
        .offset(0)  # each chapter by the beginning of the index, and vectors of its items alone
        .lateral("kept_there")
    )
    asked = scope.join(there, sa.true())
    distance: ColumnElement[Any] = sa.null().cast(sa.Float)
    parts: Sequence[ColumnElement[Any]] = ()
    if by_meaning:
        is_its = (BANK_VECTOR.c.session_id == there.c.session_id) & (BANK_VECTOR.c.item_id == there.c.item_id)
        asked = asked.outerjoin(BANK_VECTOR, is_its & _is_of_model() & _has_its_length())
        distance, parts = _distance(), _name_parts()
    return (
        select(*there.c, distance.label("distance"), *parts)
        .select_from(asked)
        .cte("kept_rows")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )


def kept(scope: Any, rows: Any, *, has_spans: bool) -> Any:
    """Return of `kept_rows` what is nearest by meaning."""
    near = (
        select(*rows.c)
        .where(rows.c.distance <= _FARTHEST)
        .order_by(rows.c.distance, rows.c.item_id.desc())
        .subquery("near_kept")
    )
    return _nearest(near, scope, "kept", has_spans=has_spans)


def pinned(scope: Any, rows: Any, *, has_spans: bool) -> Any:
    """Return of `kept_rows` what is pinned, the nearest first, also what is near to nothing."""
    near = (
        select(*rows.c)
        .where(rows.c.is_pinned)
        .order_by(rows.c.distance.nulls_last(), rows.c.prompt_index.desc(), rows.c.item_id.desc())
        .subquery("near_pinned")
    )
    return _nearest(near, scope, "pinned", has_spans=has_spans)


def _distance() -> ColumnElement[Any]:
    """Return how far a vector is from the one that is asked about."""
    return BANK_VECTOR.c.embedding.op("<=>", return_type=sa.Float)(given("vector", HalfVector()))


def _name_parts() -> tuple[Any, Any]:
    return BANK_VECTOR.c.first_part, BANK_VECTOR.c.last_part


def span_values(spans: Sequence[str]) -> dict[str, object]:
    """Return the signs of the parts of a query as parameters, and NULL where it has fewer.

    One statement serves all queries: nothing is compared with NULL, and the least of the others counts.
    """
    return dict(zip_longest(_SPANS, spans[:MOST_SPANS]))


def _farness(near: Any, *, has_spans: bool) -> ColumnElement[Any]:
    """Return how far an item is with the parts of its name, for each the span that fits it best.

    A span may describe a smith and another a mill, which the whole blurs. No vectors of a name add nothing.
    """
    distance: ColumnElement[Any] = near.distance
    if not has_spans:
        return distance
    # Each is a parameter: of an array the server would read all before the one that it takes. They are short,
    # so that reading one again for each row is faster than a subquery for each place that has it.
    spans = [sa.bindparam(name, type_=BIT(varying=True)) for name in _SPANS]

    def differing(part: Any) -> Any:
        return func.least(*(part.op("<~>", return_type=sa.Float)(span) for span in spans))

    # As a float: divided by a whole number the server would make a decimal number of it each time.
    length = sa.cast(func.length(near.first_part), sa.Float)
    share = (differing(near.first_part) + differing(near.last_part)) / length
    return distance + func.coalesce(share, distance)


def _is_of_model() -> ColumnElement[bool]:
    return BANK_VECTOR.c.model == sa.bindparam("model", type_=sa.Text)


def _has_its_length() -> ColumnElement[bool]:
    """Return the condition that a vector can be compared: a service may have changed since."""
    vector = sa.cast(sa.bindparam("vector", type_=HalfVector()), HalfVector())
    length = select(func.vector_dims(vector)).scalar_subquery()
    return func.vector_dims(BANK_VECTOR.c.embedding) == length


def _nearest(near: Any, scope: Any, name: str, *, has_spans: bool, farthest: float | None = None) -> Any:
    """Return the first of `near` that may be found, as a part of the statement.

    Those that are farther than `farthest` are left out only then: an index would look for others.
    """
    findable = _findable(near, scope, name, _farness(near.c, has_spans=has_spans))
    found = (
        findable.order_by(near.c.distance).limit(given(_MOST[name], sa.Integer())).subquery(f"found_{name}")
    )
    part = _part(found)
    return (part if farthest is None else part.where(found.c.distance <= farthest)).cte(name)


def _findable(near: Any, scope: Any, name: str, farness: ColumnElement[Any]) -> Any:
    """Return those of `near` that may be found, in their order, each looked up when it is asked for."""
    allowed = _allowed(near.c, scope, f"by_{name}")
    return (
        select(near.c.session_id, near.c.item_id, *_version(allowed), near.c.distance)
        .add_columns(farness.label("farness"))
        .select_from(near.join(allowed, sa.true()))
    )


def _part(found: Any) -> Any:
    """Return what was found by meaning with the columns that each part of a statement has."""
    score, words = _nothing("score"), sa.null().cast(sa.BigInteger)
    part = select(found.c.session_id, found.c.item_id, *_version(found), score, words.label("found_words"))
    return part.add_columns(found.c.distance, found.c.farness, sa.false().label("is_state"))


def states() -> Any:
    """Return the states of the characters that are asked for, whatever a query allows."""
    chart = rows_of("chart", ("session_id", "charts", sa.Uuid()), ("about", "abouts", sa.SmallInteger()))
    item = BANK_ITEM.alias("state_item")
    is_asked = sa.and_(item.c.session_id == chart.c.session_id, item.c.about == chart.c.about)
    return (
        select(item.c.session_id, item.c.item_id, *_version(item), _nothing("score"))
        .add_columns(sa.null().cast(sa.BigInteger).label("found_words"), _nothing("distance"))
        .add_columns(_nothing("farness"), sa.true().label("is_state"))
        .select_from(chart.join(item, is_asked))
        .where(item.c.kind == sa.literal_column(f"'{ItemKind.STATE.value}'"), counts(item.c))
        .cte("states")
    )


def _nothing(name: str) -> Any:
    return sa.null().cast(sa.Float).label(name)


def _allowed(found: Any, scope: Any, name: str) -> Any:
    """Return one row for an item that may be found, with its version, and none for another.

    It is looked up for one found item after the other, the best first, until there are enough of them: most
    are never looked at. The limit of its own is what keeps the server to that.
    """
    item = BANK_ITEM.alias(name)
    return (
        select(*_version(item))
        .select_from(scope.join(item, scope.c.session_id == item.c.session_id))
        .where(item.c.session_id == found.session_id, item.c.item_id == found.item_id)
        .where(_is_asked(item.c, scope.c), counts(item.c, scope.c.played))
        .limit(1)
        .lateral(f"{name}_allowed")
    )


def _version(item: Any) -> tuple[Any, Any]:
    """Return the columns that say which version of an item it is: a number may come twice, by a restore."""
    return item.c.version, item.c.updated_at


def _is_asked(item: Any, scope: Any) -> ColumnElement[bool]:
    """Return the condition that an item which counts is one of those asked about."""
    # An item of a chunk has the number of its last prompt; its proof may be older, and never newer. Its path
    # is part of the statement: as a parameter it would be made again for each item.
    path: ColumnElement[Any] = sa.literal_column("'{0,prompt_index}'")
    first_proof = sa.cast(item.evidence.op("#>>")(path), sa.Integer)
    begins = or_(item.prompt_index <= scope.before, first_proof <= scope.before)
    return sa.and_(
        item.label.op("&")(scope.mask) == scope.mask,
        or_(scope.before.is_(None), begins, item.take.is_(None), item.is_by_gm),
        or_(item.expires_at.is_(None), item.expires_at >= scope.now, is_kept(item)),
    )
