"""Reads items of the memory bank by their versions, and keeps the last ones: a version never changes.

Of two inputs in a row most recall the same, and those of several characters at one prompt hardly differ.
"""

from collections import OrderedDict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import Select, select

from core.domain.bank.item import Item
from db.bank.recall_connection import RecallConnection
from db.bank.recall_parts import rows_of
from db.rows.bank_mapping import to_item
from db.tables import BANK_ITEM

MOST_KEPT: Final = 6_000
"""Items that are kept, of some 1,300 bytes each."""
FoundRow = tuple[Any, ...]
"""A row that begins with the key of an item, both ids as 32 bytes, its version, and the time of that."""
_YEAR_2000: Final = datetime(2000, 1, 1, tzinfo=UTC)
_Version = tuple[int, bytes, Item]


class ItemReader:
    """Reads items over the connection of recall."""

    def __init__(self, connection: RecallConnection) -> None:
        self._connection: Final = connection
        self._kept: Final = OrderedDict[bytes, _Version]()

    async def read(self, found: Iterable[FoundRow]) -> dict[bytes, Item]:
        """Return the items of rows that say which versions they are; one that was deleted is left out."""
        items: dict[bytes, Item] = {}
        missing = set[bytes]()
        kept = self._kept
        for key, version, updated_at, *_ in found:
            known = kept.get(key)
            if known is None or known[0] != version or known[1] != updated_at:
                missing.add(key)
            else:
                items[key] = known[2]
                kept.move_to_end(key)
        if missing:
            ids = [(UUID(bytes=key[:16]), UUID(bytes=key[16:])) for key in missing]
            asked = {"sessions": [one for one, _ in ids], "ids": [one for _, one in ids]}
            for row in await self._connection.rows(_ITEMS, asked):
                item = to_item(row)
                key = item.session_id.bytes + item.id.bytes
                items[key] = item
                kept[key] = item.version, _time_as_stored(item.updated_at), item
            while len(kept) > MOST_KEPT:
                kept.popitem(last=False)
        return items


def _time_as_stored(time: datetime) -> bytes:
    """Return a time as PostgreSQL sends it in binary: the microseconds since the year 2000."""
    return ((time - _YEAR_2000) // timedelta(microseconds=1)).to_bytes(8, signed=True)


def _items() -> Select[Any]:
    """Return the query for items by their ids."""
    asked = rows_of("asked", ("session_id", "sessions", sa.Uuid()), ("item_id", "ids", sa.Uuid()))
    item = (
        select(BANK_ITEM)
        .where(BANK_ITEM.c.session_id == asked.c.session_id, BANK_ITEM.c.item_id == asked.c.item_id)
        .offset(0)  # each by its key, however many there are in all
        .lateral("item")
    )
    return select(item).select_from(asked.join(item, sa.true()))


_ITEMS: Final = _items()
