"""The statement that says which words of a prompt no item has, and which names these could mean (design 15).

It takes the time of a few keys where every word is known; the names are read only where one is not.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Select, func, literal_column, or_, select
from sqlalchemy.dialects.postgresql import REGCONFIG, array

from core.bank_store import NAMED, Names
from core.domain.bank.recall import Scope
from db.bank.recall_parts import rows_of, scope_rows, scope_values, stem_of
from db.bank.validity import counts
from db.tables import BANK_ITEM, BANK_WORD

_KINDS: Final[Any] = [literal_column(f"'{kind.value}'") for kind in NAMED]


def names_of(scopes: Sequence[Scope], words: Sequence[str]) -> tuple[Select[Any], Mapping[str, object]]:
    """Return the statement with the values of its parameters."""
    return _statement(), {**scope_values(scopes), "words": list(words)}


def read_names(rows: Sequence[Mapping[str, Any]]) -> Names:
    """Return what was found, of the rows of the statement."""
    return Names(
        unknown=tuple(row["word"] for row in rows if row["word"] is not None),
        names=tuple(row["name"] for row in rows if row["name"] is not None),
    )


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
    names = (
        select(named.c.name)
        .distinct()
        .select_from(scope.join(named, named.c.session_id == scope.c.session_id))
        .where(named.c.kind.in_(_KINDS), named.c.label.op("&")(scope.c.mask) == scope.c.mask)
        .where(counts(named.c), select(unknown.c.word).exists())
    )
    nothing = sa.null().cast(sa.Text)
    words = select(unknown.c.word, nothing.label("name"))
    both = words.union_all(select(nothing, names.subquery("named").c.name)).subquery("both")
    return select(both.c.word, both.c.name)
