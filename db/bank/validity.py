"""SQL conditions for the items of a memory bank that count (design 15)."""

from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Select,
    Uuid,
    and_,
    any_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY

from core.domain.bank.item import Validation
from db.tables import BANK_ITEM, CANON, SESSION


def counts(item: Any, played: Any = None) -> ColumnElement[bool]:
    """Return the condition that an item counts: drawn from canon, not taken out, and not superseded.

    `item` are the columns of `bank_item`, or of an alias of it; `played` is the newest prompt of its chapter
    as a column, where the statement has it.
    """
    newer = BANK_ITEM.alias("newer")
    supersedes = (newer.c.session_id == item.session_id) & (newer.c.supersedes == item.item_id)
    is_superseded = exists().where(supersedes, _replaces(newer.c, item, played))
    return is_in(item) & is_of_canon(item, played) & ~is_superseded


@cache
def replacing(*, of_some: bool) -> Select[Any]:
    """Return the query for the replacements of items in the chapters `sessions` by other items of them.

    With `of_some` of the items `items`, each of which is looked for in each chapter. It is built once, which
    takes longer than it runs.
    """
    newer, item = BANK_ITEM.alias("newer"), BANK_ITEM.alias("older")
    query = (
        select(item.c.item_id, item.c.session_id, newer.c.session_id.label("replaced_in"), newer.c.label)
        .join_from(newer, item, newer.c.supersedes == item.c.item_id)
        .where(newer.c.supersedes.is_not(None), newer.c.session_id != item.c.session_id)
        .where(_is_one(newer.c.session_id, "sessions"), _is_one(item.c.session_id, "sessions"))
        .where(_replaces(newer.c, item.c))
    )
    return query.where(_is_one(newer.c.supersedes, "items")) if of_some else query


def _is_one(column: ColumnElement[UUID], parameter: str) -> ColumnElement[bool]:
    return column == any_(bindparam(parameter, type_=ARRAY(Uuid())))


def _replaces(newer: Any, item: Any, played: Any = None) -> ColumnElement[bool]:
    """Return the condition that an item, or the one in which it goes on, replaces what it supersedes."""
    kept = BANK_ITEM.alias("goes_on")
    is_kept = (kept.c.session_id == newer.session_id) & (kept.c.item_id == newer.merged_into)
    validation = func.coalesce(select(kept.c.validation).where(is_kept).scalar_subquery(), newer.validation)
    # Nothing that a model says replaces the GM's words, also where the GM wrote them after it was asked.
    may_replace = or_(newer.is_by_gm, ~item.is_by_gm)
    return and_(may_replace, validation != Validation.REJECTED.value, is_of_canon(newer, played))


def is_of_canon(item: Any, played: Any = None) -> ColumnElement[bool]:
    """Return the condition that the prompt's take that an item was drawn from is canon; see `counts`."""
    chapter = CANON if played is not None else CANON.join(SESSION, SESSION.c.id == CANON.c.session_id)
    is_played = (
        select(CANON.c.take)
        .select_from(chapter)
        .where(
            CANON.c.session_id == item.session_id,
            CANON.c.prompt_index == item.prompt_index,
            CANON.c.take == item.take,
            CANON.c.prompt_index <= (SESSION.c.prompt_index if played is None else played),
        )
        .correlate_except(CANON, SESSION)
        .exists()
    )
    return or_(item.take.is_(None), is_played)


def is_kept(item: Any) -> ColumnElement[bool]:
    """Return the condition that the GM pinned or confirmed an item; an index has those of it."""
    return or_(item.is_pinned, item.validation == literal_column(f"'{Validation.CONFIRMED.value}'"))


def is_in(item: Any) -> ColumnElement[bool]:
    """Return the condition that the GM did not take an item out.

    One that was merged counts while the one in which it goes on is not of canon, such as after an undo.
    """
    kept = BANK_ITEM.alias("kept")
    is_kept = (kept.c.session_id == item.session_id) & (kept.c.item_id == item.merged_into)
    # A value is asked for only where there is one to ask about; EXISTS might read the whole table at first.
    goes_on = select(kept.c.item_id).where(is_kept, is_of_canon(kept.c)).scalar_subquery()
    is_merged = and_(item.merged_into.is_not(None), goes_on.is_not(None))
    return and_(item.validation != Validation.REJECTED.value, ~is_merged)
