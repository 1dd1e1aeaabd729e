"""Reads items of the memory bank by their versions, and keeps the last ones: a version never changes.

Of two inputs in a row most recall the same, and those of several characters at one prompt hardly differ.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Select, select

from core.domain.bank.item import Item
from core.domain.ids import ItemId, SessionId
from db.bank.recall_connection import RecallConnection
from db.bank.recall_parts import rows_of
from db.rows.bank_mapping import to_item
from db.tables import BANK_ITEM

MOST_KEPT: Final = 4_000
"""Items that are kept, of some two thousand bytes each."""
ItemKey = tuple[SessionId, ItemId]


class ItemReader:
    """Reads items over the connection of recall."""

    def __init__(self, connection: RecallConnection) -> None:
        self._connection: Final = connection
        self._kept: OrderedDict[ItemKey, Item] = OrderedDict()

    async def read(self, found: Iterable[Mapping[str, Any]]) -> Mapping[ItemKey, Item]:
        """Return the items of rows that say which versions they are; one that was deleted is left out."""
        items: dict[ItemKey, Item] = {}
        missing: list[ItemKey] = []
        for row in found:
            key = row["session_id"], row["item_id"]
            item = self._kept.get(key)
            if item is None or (item.version, item.updated_at) != (row["version"], row["updated_at"]):
                missing.append(key)
            else:
                items[key] = item
                self._kept.move_to_end(key)
        if missing:
            asked = {"sessions": [one for one, _ in missing], "ids": [one for _, one in missing]}
            for row in await self._connection.rows(_ITEMS, asked):
                item = to_item(row)
                self._kept[item.session_id, item.id] = items[item.session_id, item.id] = item
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return items


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
