"""The statement that says which words of a prompt no item has, and which names these could mean (design 15).

It takes the time of a few keys where every word is known; the names are read only where one is not.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Select, func, literal_column, or_, select
from sqlalchemy.dialects.postgresql import REGCONFIG, array

from core.bank_store import MOST_NAMES, Names
from core.domain.bank.details import NAMED
from core.domain.bank.recall import Scope
from db.bank.recall_parts import rows_of, scope_rows, scope_values, stem_of
from db.bank.validity import counts
from db.tables import BANK_ITEM, BANK_WORD

_KINDS: Final[Any] = [literal_column(f"'{kind.value}'") for kind in NAMED]


def names_of(scopes: Sequence[Scope], words: Sequence[str]) -> tuple[Select[Any], Mapping[str, object]]:
    """Return the statement with the values of its parameters."""
    return _statement(), {**scope_values(scopes), "words": list(words)}


def read_names(rows: Sequence[Mapping[str, Any]]) -> Names:
    """Return what was found, of the row of the statement."""
    [row] = rows
    return Names(unknown=tuple(row["words"] or ()), names=tuple(row["names"] or ()))


@cache
def _statement() -> Select[Any]:
    scope = scope_rows()
    sought = rows_of("sought", ("word", "words", sa.Text()))
    config = sa.cast("pg_catalog." + scope.c.language, REGCONFIG)
    stem = stem_of(sought.c.word, config)
    item = BANK_ITEM.alias("having_item")
    has = (
        select(BANK_WORD.c.item_id)
        .join(item, (item.c.session_id == BANK_WORD.c.session_id) & (item.c.item_id == BANK_WORD.c.item_id))
        .where(BANK_WORD.c.session_id == scope.c.session_id)
        .where(BANK_WORD.c.word == func.any(array([sought.c.word, stem])))
        .where(item.c.label.op("&")(scope.c.mask) == scope.c.mask)
        .correlate(scope, sought)
        .exists()
    )
    # A word of which no language makes anything is a common one.
    is_known = select(scope.c.session_id).where(or_(stem.is_(None), has)).correlate(sought).exists()
    unknown = (
        select(sought.c.word)
        .where(~is_known)
        .cte("unknown")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    named = BANK_ITEM.alias("named_item")
    each = (
        select(named.c.name, named.c.created_at)
        .where(named.c.session_id == scope.c.session_id, named.c.kind.in_(_KINDS))
        .where(named.c.label.op("&")(scope.c.mask) == scope.c.mask, counts(named.c))
        .offset(0)  # each chapter by the beginning of the key, however many there are
        .lateral("each_name")
    )
    names = (
        select(each.c.name)
        .select_from(scope.join(each, sa.true()))
        .where(select(unknown.c.word).exists())
        .group_by(each.c.name)
        .order_by(func.max(each.c.created_at).desc(), each.c.name)
        .limit(MOST_NAMES)
        .subquery("names")
    )
    # As arrays: a row for each name would take longer to read than to find.
    words = select(func.array_agg(unknown.c.word)).scalar_subquery()
    return select(words.label("words"), select(func.array_agg(names.c.name)).scalar_subquery().label("names"))
