"""A memory bank in memory that keeps what `core.bank_store.BankStore` promises."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item, ItemAccess
from core.domain.errors import ChangedElsewhereError
from core.domain.ids import ItemId, SessionId
from tests.store.memory_rows import Rows


class MemoryBank:
    """The items of the sessions of one database."""

    def __init__(self, sessions: Mapping[SessionId, Rows]) -> None:
        self._sessions = sessions

    async def items(
        self,
        session_id: SessionId,
        *,
        with_all: bool = False,
        kinds: Collection[ItemKind] | None = None,
    ) -> Sequence[Item]:
        rows = self._sessions.get(session_id)
        if rows is None:
            return []
        newest = [versions[-1] for versions in rows.items.values()]
        found = newest if with_all else list(counting(rows, newest))
        found = [item for item in found if kinds is None or item.kind in kinds]
        return sorted(found, key=lambda item: (item.prompt_index, item.id))

    async def history(
        self, session_id: SessionId, item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Item]:
        rows = self._sessions.get(session_id)
        items = {} if rows is None else rows.items
        return [
            version
            for item_id in sorted(items)
            if item_ids is None or item_id in item_ids
            for version in items[item_id]
        ]

    async def accesses(self, session_id: SessionId) -> Mapping[ItemId, ItemAccess]:
        rows = self._sessions.get(session_id)
        return {} if rows is None else dict(rows.accesses)

    async def put(self, items: Sequence[Item]) -> None:
        for item in items:
            versions = self._sessions[item.session_id].items.get(item.id, [])
            if item.version != len(versions) + 1:
                raise ChangedElsewhereError()
        for item in items:
            self._sessions[item.session_id].items.setdefault(item.id, []).append(item)


def counting(rows: Rows, items: Sequence[Item]) -> Iterator[Item]:
    """Yield those that count: drawn from canon, not taken out, and not superseded by one that counts."""
    own = [item for item in items if _is_in(rows, item)]
    superseded = {item.supersedes for item in own}
    return (item for item in own if item.id not in superseded)


def _is_in(rows: Rows, item: Item) -> bool:
    is_played = item.prompt_index <= rows.session.prompt_index
    is_canon = item.take is None or (is_played and rows.takes.get(item.prompt_index) == item.take)
    return is_canon and not item.is_out
