"""A memory bank in memory that keeps what `core.bank_store.BankStore` promises."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from core.bank_store import EarlierChapter
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item, ItemAccess
from core.domain.errors import ChangedElsewhereError
from core.domain.ids import ItemId, SessionId
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.cast import Cast
from core.library_store import LibraryStore
from tests.store.memory_rows import Rows


class MemoryBank:
    """The items of the sessions of one database."""

    def __init__(self, sessions: Mapping[SessionId, Rows], library: LibraryStore) -> None:
        self._sessions = sessions
        self._library = library

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
        kept = (item for item in found if kinds is None or item.kind in kinds)
        return sorted(kept, key=lambda item: (item.prompt_index, item.id))

    async def taken_out(self, session_id: SessionId) -> Sequence[Item]:
        found = await self.items(session_id, with_all=True)
        return [item for item in found if item.is_out]

    async def earlier_chapters(self, session_id: SessionId) -> Sequence[EarlierChapter]:
        book = await self._library.book_of(session_id)
        earlier = () if book is None else book.chapters[: book.number_of(session_id) - 1]
        return [_earlier(self._sessions[one], number) for number, one in enumerate(earlier, start=1)]

    async def readings(self, session_id: SessionId) -> Sequence[BackgroundRequest]:
        rows = self._sessions.get(session_id)
        requests = sorted(rows.requests.values(), key=lambda one: one.id) if rows else []
        return [
            one
            for one in requests
            if isinstance(one, BackgroundRequest)
            and (one.kind, one.state) == (RequestKind.EXTRACTION, RequestState.DONE)
        ]

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


def _earlier(rows: Rows, number: int) -> EarlierChapter:
    session = rows.session
    cast = (replace(one, identity="") for one in map(Cast(session, rows.tab1).__getitem__, session.slots))
    return EarlierChapter(
        session_id=session.id, number=number, prompt_index=session.prompt_index, cast=tuple(cast)
    )


def counting(rows: Rows, items: Sequence[Item]) -> Iterator[Item]:
    """Yield those that count: drawn from canon, not taken out, and not superseded by one that counts."""
    own = [item for item in items if _is_in(rows, item)]
    superseded = {item.supersedes for item in own}
    by_gm = {item.supersedes for item in own if item.is_by_gm}
    return (item for item in own if item.id not in (by_gm if item.is_by_gm else superseded))


def _is_in(rows: Rows, item: Item) -> bool:
    is_played = item.prompt_index <= rows.session.prompt_index
    is_canon = item.take is None or (is_played and rows.takes.get(item.prompt_index) == item.take)
    return is_canon and not item.is_out
