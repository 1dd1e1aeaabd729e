"""The items of chapters in PostgreSQL; see `core.bank_store.BankStore` for what each method promises."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import URL, Executable, Select, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.bank.item import Item, ItemAccess
from core.domain.bank.recall import Found, ItemVector, Query, merged
from core.domain.errors import ChangedElsewhereError
from core.domain.ids import ItemId, SessionId
from db.bank.recall import read_candidates
from db.bank.validity import counts
from db.bank.vectors import VectorTable, missing
from db.library.library_store import Change, Read
from db.rows.bank_mapping import item_values, revision_values, to_access, to_item
from db.tables import BANK_ACCESS, BANK_ITEM, BANK_REVISION


class PostgresBank:
    """The memory bank. `change` and `read` run work in a transaction of the store."""

    def __init__(self, change: Change, read: Read, url: URL) -> None:
        self._change: Final = change
        self._read: Final = read
        self._vectors: Final = VectorTable(change, read, url)

    async def items(self, session_id: SessionId, *, with_all: bool = False) -> Sequence[Item]:
        """Return the items of a chapter; see `core.bank_store.BankStore.items`."""
        query = select(BANK_ITEM).where(BANK_ITEM.c.session_id == session_id)
        if not with_all:
            query = query.where(counts(BANK_ITEM.c))
        query = query.order_by(BANK_ITEM.c.prompt_index, BANK_ITEM.c.item_id)
        return [to_item(row._mapping) for row in await self._rows(query)]

    async def history(
        self, session_id: SessionId, item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Item]:
        """Return every version of items; see `core.bank_store.BankStore.history`."""
        query = select(BANK_REVISION.c.content).where(BANK_REVISION.c.session_id == session_id)
        if item_ids is not None:
            query = query.where(BANK_REVISION.c.item_id.in_(list(item_ids)))
        query = query.order_by(BANK_REVISION.c.item_id, BANK_REVISION.c.version)
        return [to_item(row.content) for row in await self._rows(query)]

    async def accesses(self, session_id: SessionId) -> Mapping[ItemId, ItemAccess]:
        """Return which items this chapter recalled."""
        query = select(BANK_ACCESS).where(BANK_ACCESS.c.session_id == session_id)
        found = map(to_access, await self._rows(query))
        return {one.item_id: one for one in found}

    async def put(self, items: Sequence[Item]) -> None:
        """Store the next version of each item; see `core.bank_store.BankStore.put`."""

        async def work(connection: AsyncConnection) -> None:
            for item in items:
                values = item_values(item)
                stored: Executable
                if item.version == 1:
                    statement = insert(BANK_ITEM).values(values).on_conflict_do_nothing()
                    stored = statement.returning(BANK_ITEM.c.version)
                else:
                    key = (BANK_ITEM.c.session_id == item.session_id) & (BANK_ITEM.c.item_id == item.id)
                    is_before = BANK_ITEM.c.version == item.version - 1
                    stored = (
                        BANK_ITEM.update().where(key, is_before).values(values).returning(BANK_ITEM.c.version)
                    )
                if (await connection.execute(stored)).one_or_none() is None:
                    raise ChangedElsewhereError()
                await connection.execute(insert(BANK_REVISION).values(_plain(revision_values(item))))

        await self._change(work)

    async def recall(self, query: Query) -> Sequence[Found]:
        """Return the items that fit a query best; see `core.bank_store.BankStore.recall`."""
        has_vectors = query.vector is not None and await self.can_recall_by_meaning()
        if not query.scopes or not (query.words or has_vectors):
            return ()
        candidates = await self._read(
            lambda connection: read_candidates(connection, query, has_vectors=has_vectors)
        )
        return merged(candidates, query)

    async def can_recall_by_meaning(self) -> bool:
        """Whether vectors are kept here; see `core.bank_store.BankStore.can_recall_by_meaning`."""
        return await self._vectors.is_there()

    async def unembedded(self, session_ids: Collection[SessionId], model: str, limit: int) -> Sequence[Item]:
        """Return items without a vector; see `core.bank_store.BankStore.unembedded`."""
        if not await self.can_recall_by_meaning():
            return ()
        return [to_item(row._mapping) for row in await self._rows(missing(session_ids, model, limit))]

    async def put_vectors(self, model: str, vectors: Sequence[ItemVector]) -> None:
        """Store the vectors of items; see `core.bank_store.BankStore.put_vectors`."""
        if await self.can_recall_by_meaning():
            await self._vectors.put(model, vectors)

    async def _rows(self, query: Select[Any]) -> Sequence[Any]:
        async def work(connection: AsyncConnection) -> Sequence[Any]:
            return list(await connection.execute(query))

        return await self._read(work)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose JSON has times and ids as text."""
    content = {name: _text(value) for name, value in values["content"].items()}
    return {**values, "content": content}


def _text(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
