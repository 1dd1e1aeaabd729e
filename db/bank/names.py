"""The statement that says which words of a prompt no item has, and which names these could mean (design 15).

It takes the time of a few keys where every word is known; the names are read only where one is not.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Select, func, literal_column, or_, select
from sqlalchemy.dialects.postgresql import REGCONFIG, array

from core.domain.bank.details import NAMED
from core.domain.bank.recall import Scope
from core.domain.session.language import Language
from core.storage.bank_store import MOST_NAMES, Names
from db.bank.parameters import rows_of
from db.bank.recall_connection import RecallConnection
from db.bank.recall_parts import scope_rows, scope_values, stem_of
from db.bank.validity import counts
from db.tables import BANK_ITEM, BANK_WORD

_MOST_COMMON: Final = 2_000
"""Common words that are remembered; a language has some hundreds."""
_KINDS: Final[Any] = [literal_column(f"'{kind.value}'") for kind in NAMED]


class NameReader:
    """Reads names over the connection of recall, and remembers words of which a language makes nothing."""

    def __init__(self, connection: RecallConnection) -> None:
        self._connection: Final = connection
        self._common: Final = set[tuple[Language, str]]()

    async def read(self, scopes: Sequence[Scope], words: Sequence[str]) -> Names:
        """Return unknown words and the names there are; see `BankStore.names`.

        Many prompts begin with a common word, such as “What”: nothing is read for these.
        """
        languages = {one.language for one in scopes}
        asked = [
            word for word in words if not any((language, word) in self._common for language in languages)
        ]
        if not languages or not asked:
            return Names()
        [row] = await self._connection.rows(_statement(), {**scope_values(scopes), "words": asked})
        if len(languages) == 1 and row["common"]:
            if len(self._common) > _MOST_COMMON:
                self._common.clear()
            self._common.update((language, word) for language in languages for word in row["common"])
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
    is_common = select(scope.c.session_id).where(stem.is_(None)).correlate(sought).exists()
    common = select(func.array_agg(sought.c.word)).where(is_common).scalar_subquery()
    listed = select(func.array_agg(names.c.name)).scalar_subquery()
    return select(words.label("words"), common.label("common"), listed.label("names"))
