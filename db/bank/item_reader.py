"""Reads items of the memory bank by their versions, and keeps the last ones: a version never changes.

Of two inputs in a row most recall the same, and those of several characters at one prompt hardly differ.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import Select, select
from sqlalchemy.dialects.postgresql import JSONB

from core.domain.bank.item import Item
from core.domain.ids import ItemId, SessionId
from db.bank.parameters import array_of, key_of, rows_of, time_of
from db.bank.recall_connection import RecallConnection, together
from db.rows.bank_mapping import to_items, to_version
from db.tables import BANK_ITEM, BANK_REVISION

MOST_KEPT: Final = 10_000
"""Items that are kept, of some 1,300 bytes each."""
MOST_OF_A_LIST: Final = 40_000
"""Items that are kept where a list has as many: of fewer, none would be there when it is read again."""
_AT_ONCE: Final = 500
"""Items that are read at once: keys are handled in between, and inputs recall theirs."""
_MANY: Final = 100
"""From so many on a second connection is worth its part of the work."""
FoundRow = tuple[Any, ...]
"""A row that begins with the key of an item, both ids as 32 bytes, its version, and the time of that."""
_Version = tuple[int, bytes, Item]


class ItemReader:
    """Reads items over the connections of recall: over one that is free if one is, and many over both."""

    def __init__(self, connection: RecallConnection, other: RecallConnection) -> None:
        self._connection: Final = connection
        self._both: Final = (connection, other)
        self._kept: Final = OrderedDict[bytes, _Version]()
        self._most = MOST_KEPT

    async def read(self, found: Sequence[FoundRow]) -> Sequence[Item | None]:
        """Return the item of each row, which says its version; None for one that was deleted."""
        self._most = max(self._most, min(len(found), MOST_OF_A_LIST))
        items: list[Item | None] = []
        missing = set[bytes]()
        kept = self._kept
        for row in found:
            key = row[0]
            known = kept.get(key)
            if known is None or known[1] != row[2] or known[0] != row[1]:
                missing.add(key)
                items.append(None)
            else:
                items.append(known[2])
                kept.move_to_end(key)
        if missing:
            keys, read = list(missing), dict[bytes, Item]()
            # In parts: keys are handled in between, and inputs recall their items.
            for first in range(0, len(keys), _AT_ONCE):
                read |= await self._read(keys[first : first + _AT_ONCE])
            items = [read.get(row[0], item) for row, item in zip(found, items, strict=True)]
        return items

    async def versions(
        self, session_id: SessionId, keys: Sequence[tuple[ItemId, int]]
    ) -> Mapping[tuple[ItemId, int], Item]:
        """Return versions of items of a chapter; see `BankStore.versions`."""
        found: dict[tuple[ItemId, int], Item] = {}
        for first in range(0, len(keys), _AT_ONCE):
            part = keys[first : first + _AT_ONCE]
            ids, numbers = array_of(one.hex for one, _ in part), array_of(number for _, number in part)
            asked = {"session": session_id, "ids": ids, "numbers": numbers}
            rows = await self._connection.tuples(_VERSIONS, asked, by_index=None)
            made = await asyncio.to_thread(_made, rows)
            found |= {(one.id, one.version): one for one in made}
        return found

    async def _read(self, keys: Sequence[bytes]) -> dict[bytes, Item]:
        """Read items by their keys, and keep them.

        Where both connections are free, the server reads one half of many while the program makes the other.
        None is opened for a few.
        """
        are_many = len(keys) >= _MANY
        free = [one for one in self._both if not one.is_busy and (are_many or one.is_open)]
        if are_many and len(free) > 1:
            half = len(keys) // 2
            parts = [self._read_over(free[0], keys[:half]), self._read_over(free[1], keys[half:])]
            items = {key: item for part in await together(parts) for key, item in part.items()}
        else:
            items = await self._read_over(free[0] if free else self._connection, keys)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return items

    async def _read_over(self, connection: RecallConnection, keys: Sequence[bytes]) -> dict[bytes, Item]:
        asked = {
            "sessions": array_of(key[:16].hex() for key in keys),
            "ids": array_of(key[16:].hex() for key in keys),
        }
        rows = await connection.tuples(_ITEMS, asked, by_index=None)
        if not rows:
            return {}
        columns = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))
        found, times = columns.pop("key"), columns.pop("time")
        columns["session_id"] = tuple([_chapter_of(key[:16]) for key in found])
        items = dict(zip(found, to_items(columns), strict=True))
        for (key, item), time in zip(items.items(), times, strict=True):
            self._kept[key] = item.version, time, item
        return items


def _made(rows: Iterable[tuple[str, str]]) -> list[Item]:
    return [to_version(*row) for row in rows]


@lru_cache(maxsize=256)
def _chapter_of(key: bytes) -> UUID:
    """Return the id of a chapter, the same object for its items: two ids take long to compare."""
    return UUID(bytes=key)


def _items() -> Select[Any]:
    """Return the query for items by their ids."""
    asked = rows_of("asked", ("session_id", "sessions", sa.Uuid()), ("item_id", "ids", sa.Uuid()))
    columns = [
        sa.cast(column, sa.Text).label(column.key) if isinstance(column.type, JSONB) else column
        for column in BANK_ITEM.c
        if column.key != "session_id"  # the key has it
    ]
    item = (
        select(*columns, key_of(BANK_ITEM.c), time_of(BANK_ITEM.c).label("time"))
        .where(BANK_ITEM.c.session_id == asked.c.session_id, BANK_ITEM.c.item_id == asked.c.item_id)
        .offset(0)  # each by its key, however many there are in all
        .lateral("item")
    )
    return select(item).select_from(asked.join(item, sa.true()))


def version_texts() -> Sequence[Any]:
    """Return the columns of a version that `to_version` reads."""
    content = BANK_REVISION.c.content
    details = sa.cast(content["details"], sa.Text).label("details")
    return sa.cast(content.op("-")("details"), sa.Text).label("content"), details


def _versions() -> Select[Any]:
    """Return the query for versions of items of a chapter."""
    asked = rows_of("asked", ("item_id", "ids", sa.Uuid()), ("version", "numbers", sa.Integer()))
    then = BANK_REVISION.c
    version = (
        select(*version_texts())
        .where(then.session_id == sa.bindparam("session", type_=sa.Uuid))
        .where(then.item_id == asked.c.item_id, then.version == asked.c.version)
        .offset(0)  # each by its key, however many there are in all
        .lateral("version")
    )
    return select(version).select_from(asked.join(version, sa.true()))


_ITEMS: Final = _items()
_COLUMNS: Final = [str(column.key) for column in _ITEMS.selected_columns]
_VERSIONS: Final = _versions()
