"""Stores the next versions of items of the memory bank, however many, in a few statements (design 15)."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.bank.item import Item
from core.domain.errors import ChangedElsewhereError
from db.rows.bank_mapping import item_values, revision_values
from db.tables import BANK_ITEM, BANK_REVISION
from db.writes.commit_statement import BANK_CHANGED, as_json, insertion, notice_to, rows_given

Parameters = dict[str, str]
"""Rows as JSON, by the name of their table; the keys alone too, as the server reads all JSON for each use."""
_KEYS: Final = "keys"


def parameters_of(items: Sequence[Item]) -> Parameters:
    """Return the rows of items and of their versions; raises StorageError where a value is not JSON.

    Thousands of items take some tenths of a second.
    """
    rows = [item_values(item) for item in items]
    return {
        _KEYS: as_json([{key.name: row[key.name] for key in BANK_ITEM.primary_key} for row in rows]),
        BANK_ITEM.name: as_json(rows),
        BANK_REVISION.name: as_json([revision_values(row) for row in rows]),
    }


async def put_items(connection: AsyncConnection, items: Sequence[Item], parameters: Parameters) -> None:
    """Store items, whose rows are `parameters`; raises ChangedElsewhereError where one has another version.

    Some are the next versions of stored items, and some are new.
    """
    rows = {BANK_ITEM.name: parameters[BANK_ITEM.name]}
    # In one order of all changes: two that lock the same rows in two orders would wait for each other.
    await connection.execute(_LOCK, {BANK_ITEM.name: parameters[_KEYS]})
    are_new = {item.version == 1 for item in items}
    stored = 0
    for is_new, statement in ((False, _CHANGE), (True, _ADD)):
        if is_new in are_new:
            stored += (await connection.execute(statement, rows)).rowcount
    if stored != len(items):
        raise ChangedElsewhereError()
    await connection.execute(_ADD_VERSIONS, {BANK_REVISION.name: parameters[BANK_REVISION.name]})
    for session_id in {item.session_id for item in items}:
        await connection.execute(notice_to(session_id, BANK_CHANGED))


_GIVEN: Final = rows_given(BANK_ITEM)
_IS_GIVEN: Final = sa.and_(*(key == _GIVEN.c[key.name] for key in BANK_ITEM.primary_key))
_IS_NEW: Final = _GIVEN.c.version == 1
_LOCK: Final = (
    select(BANK_ITEM.c.version)
    .join_from(BANK_ITEM, _GIVEN, _IS_GIVEN)
    .order_by(*BANK_ITEM.primary_key)
    .with_for_update(of=BANK_ITEM, key_share=True)
)
_CHANGE: Final = (
    BANK_ITEM.update()
    .where(_IS_GIVEN, ~_IS_NEW, BANK_ITEM.c.version == _GIVEN.c.version - 1)
    .values({column.name: _GIVEN.c[column.name] for column in BANK_ITEM.c if not column.primary_key})
)

_ADD: Final = (
    insertion(BANK_ITEM, _GIVEN, _IS_NEW).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
)
_ADD_VERSIONS: Final = insertion(BANK_REVISION, rows_given(BANK_REVISION))
