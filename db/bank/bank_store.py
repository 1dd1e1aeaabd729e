"""The items of chapters in PostgreSQL; `BankStore` is the contract of each method."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    URL,
    Integer,
    Select,
    Text,
    Uuid,
    all_,
    any_,
    bindparam,
    cast,
    exists,
    func,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, array

from core.domain.bank.details import NAMED, ItemKind
from core.domain.bank.item import Item, ItemAccess, Replacement
from core.domain.bank.pieces import NearPiece, PieceVector
from core.domain.bank.recall import Found, ItemVector, Query, QueryWord, Scope, Vector, merged
from core.domain.ids import ItemId, SessionId
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.storage.bank_store import EarlierChapter, FindWords, ItemsForInput, Names, Sheets
from core.storage.while_others_change import TRIES
from db.bank.item_reader import ItemReader, version_texts
from db.bank.letters import patterns_of
from db.bank.names import NameReader
from db.bank.parameters import array_of, key_of, time_of
from db.bank.recall import (
    RecallResult,
    lookup_statement,
    lookup_values,
    meaning_statement,
    values_of,
)
from db.bank.recall_connection import RecallConnection, together
from db.bank.validity import counts, is_in, is_of_canon, replacing
from db.bank.vectors import VectorTable, missing, missing_pieces, near, pairs
from db.reads.chapter_lists import statuses_of
from db.rows.bank_mapping import (
    ACCESSES,
    REPLACEMENTS,
    to_earlier_chapter,
    to_item,
    to_version,
)
from db.rows.mapping import to_request
from db.tables import BANK_ACCESS, BANK_ITEM, BANK_REVISION, BOOK_CHAPTER, LLM_REQUEST, SESSION, TAB1_INPUT
from db.transactions import Transactions
from db.writes.item_versions import parameters_of, put_items


class PostgresBank:
    """The memory bank."""

    def __init__(self, transactions: Transactions, url: URL) -> None:
        self._database: Final = transactions
        self._vectors: Final = VectorTable(transactions, url)
        self._connection: Final = RecallConnection(url)
        self._meaning_connection: Final = RecallConnection(url)
        """For the search by meaning, beside the other one."""
        self._items: Final = ItemReader(self._connection, self._meaning_connection)
        self._names: Final = NameReader(self._connection)

    async def items(
        self,
        session_id: SessionId,
        *,
        with_all: bool = False,
        of_canon: bool = False,
        kinds: Collection[ItemKind] | None = None,
    ) -> Sequence[Item]:
        """Return the items of a chapter; see `BankStore.items`."""
        query = _versions(with_all=with_all, of_canon=of_canon, of_kinds=kinds is not None)
        values = {"session": session_id, "kinds": array_of(kinds or ())}
        found: list[Item] = []
        for _ in range(TRIES):
            # A chapter may have thousands, most of which were read before.
            versions = await self._connection.tuples(query, values, by_index=None)
            found = [item for item in await self._items.read(versions) if item is not None]
            # One that was changed between the two may not be wanted any more.
            if [item.version for item in found] == [row[1] for row in versions]:
                break
        return found

    async def having(
        self, session_id: SessionId, words: Sequence[str], *, most: int, skipped: int = 0
    ) -> Sequence[Item]:
        """Return items that may have these words; see `BankStore.having`."""
        values = {"session": session_id, "patterns": array_of(patterns_of(words))}
        values |= {"most": most, "skipped": skipped}
        versions = await self._connection.tuples(_HAVING, values, by_index=None)
        return [item for item in await self._items.read(versions) if item is not None]

    async def has_items(self, session_ids: Collection[SessionId]) -> bool:
        """Whether one of these chapters has an item, whatever counts."""
        some = select(BANK_ITEM.c.item_id).where(BANK_ITEM.c.session_id.in_(list(session_ids))).limit(1)
        return bool(await self._database.rows(some))

    async def counting(self, session_id: SessionId) -> Collection[ItemId]:
        """Return the ids of the items of a chapter that count."""
        query = select(BANK_ITEM.c.item_id).where(BANK_ITEM.c.session_id == session_id)
        return frozenset(row.item_id for row in await self._database.rows(query.where(counts(BANK_ITEM.c))))

    async def taken_out(self, session_id: SessionId) -> Sequence[Item]:
        """Return the items of a chapter that the GM rejected or merged."""
        query = select(BANK_ITEM).where(BANK_ITEM.c.session_id == session_id, ~is_in(BANK_ITEM.c))
        rows = await self._database.rows(query.order_by(BANK_ITEM.c.prompt_index, BANK_ITEM.c.item_id))
        return [to_item(row._mapping) for row in rows]

    async def earlier_chapters(self, session_id: SessionId) -> tuple[EarlierChapter, ...]:
        """Return the chapters before this one in its book."""
        rows = await self._connection.rows(_EARLIER, {"session": session_id})
        return tuple([to_earlier_chapter(row) for row in rows])

    async def replacements(
        self, session_ids: Sequence[SessionId], item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Replacement]:
        """Return what is replaced across chapters; see `BankStore.replacements`."""
        values = {"sessions": list(session_ids), "items": list(item_ids or ())}
        query = replacing(of_some=item_ids is not None)
        return [REPLACEMENTS.record_of_json(row) for row in await self._connection.rows(query, values)]

    async def readings(self, session_id: SessionId) -> Sequence[BackgroundRequest]:
        """Return the requests that have drawn items from play."""
        query = (
            select(LLM_REQUEST)
            .where(LLM_REQUEST.c.session_id == session_id)
            .where(LLM_REQUEST.c.kind == RequestKind.EXTRACTION.value)
            .where(LLM_REQUEST.c.state == RequestState.DONE.value)
            .order_by(LLM_REQUEST.c.request_id)
        )
        found = [to_request(row) for row in await self._database.rows(query)]
        return [one for one in found if isinstance(one, BackgroundRequest)]

    async def history(
        self, session_id: SessionId, item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Item]:
        """Return every version of items; see `BankStore.history`."""
        query = select(*version_texts()).where(BANK_REVISION.c.session_id == session_id)
        if item_ids is not None:
            query = query.where(BANK_REVISION.c.item_id.in_(list(item_ids)))
        query = query.order_by(BANK_REVISION.c.item_id, BANK_REVISION.c.version)
        rows = await self._database.rows(query)
        # A chapter may have thousands, and the reading of one of them takes some time.
        return await asyncio.to_thread(lambda: [to_version(*row) for row in rows])

    async def versions(
        self, session_id: SessionId, keys: Sequence[tuple[ItemId, int]]
    ) -> Mapping[tuple[ItemId, int], Item]:
        """Return versions of items; see `BankStore.versions`."""
        return await self._items.versions(session_id, keys)

    async def accesses(self, session_id: SessionId) -> Mapping[ItemId, ItemAccess]:
        """Return which items this chapter recalled, by their ids."""
        query = (
            select(BANK_ACCESS).where(BANK_ACCESS.c.session_id == session_id).order_by(BANK_ACCESS.c.item_id)
        )
        found = map(ACCESSES.record, await self._database.rows(query))
        return {one.item_id: one for one in found}

    async def put(self, items: Sequence[Item]) -> None:
        """Store the next version of each item; see `BankStore.put`."""
        if not items:
            return
        # A thousand items take long to write down.
        parameters = await asyncio.to_thread(parameters_of, items)
        await self._database.change(lambda connection: put_items(connection, items, parameters))

    async def recall(self, query: Query) -> Sequence[Found]:
        """Return the items that fit a query best; see `BankStore.recall`."""
        return (await self.items_for_input((), query)).found

    async def items_for_input(
        self, sheets: Sheets, query: Query | None, find_words: FindWords | None = None
    ) -> ItemsForInput:
        """Return states and what a query recalls; see `BankStore.items_for_input`."""
        values: dict[str, object] = {} if query is None else values_of(query)
        by_meaning = query is not None and query.vector is not None and await self.can_recall_by_meaning()
        earlier: tuple[EarlierChapter, ...] = ()
        result = RecallResult()

        async def look_up() -> None:
            nonlocal earlier
            await self._look_up(result, sheets, query, find_words, values, by_meaning=by_meaning)
            if query is not None and query.is_for_input:  # while the meaning is still looked for
                earlier = await self.earlier_chapters(query.session_id)

        read = [look_up()]
        if query is not None and query.scopes and by_meaning:
            # Beside the other one, for which names are read first: the server has a processor for each.
            read.insert(0, self._look_for_meaning(result, query, values))
        await together(read)
        found = () if query is None else merged(result.candidates, query)
        return ItemsForInput(result.states(sheets), found, earlier)

    async def _look_for_meaning(self, result: RecallResult, query: Query, values: dict[str, object]) -> None:
        """Add the items that are near to a query by meaning."""
        by_index = len(query.vector or ()) if await self._vectors.index.serves(query) else 0
        most = query.candidates if by_index else 0
        rows = await self._meaning_connection.tuples(
            meaning_statement(query, by_index), values, by_index=most
        )
        result.add(rows, await self._items.read(rows))

    async def _look_up(
        self,
        result: RecallResult,
        sheets: Sheets,
        query: Query | None,
        find_words: FindWords | None,
        values: dict[str, object],
        *,
        by_meaning: bool,
    ) -> None:
        """Add states, and items that have the words of a query or are kept by the GM."""
        if query is not None and find_words is not None:
            query = replace(query, words=await find_words())
        words: Sequence[QueryWord] = () if query is None else query.words
        statement = lookup_statement(sheets, query, by_meaning=by_meaning)
        if statement is None:
            return
        rows = await self._connection.tuples(statement, {**values, **lookup_values(sheets, query, words)})
        result.add(rows, await self._items.read(rows), words)

    async def aclose(self) -> None:
        """Close the connections for recall, if they were opened."""
        await self._connection.aclose()
        await self._meaning_connection.aclose()

    async def names(self, scopes: Sequence[Scope], words: Sequence[str]) -> Names:
        """Return unknown words and the names there are; see `BankStore.names`."""
        return await self._names.read(scopes, words)

    async def all_names(self, session_ids: Collection[SessionId]) -> Collection[str]:
        """Return the names of people and places; see `BankStore.all_names`."""
        rows = await self._database.rows(_NAMES, {"sessions": list(session_ids)})
        return frozenset(row.name for row in rows)

    async def can_recall_by_meaning(self) -> bool:
        """Whether vectors are kept here; see `BankStore.can_recall_by_meaning`."""
        return await self._vectors.is_there()

    async def unembedded(self, session_ids: Collection[SessionId], model: str, limit: int) -> Sequence[Item]:
        """Return items without a vector; see `BankStore.unembedded`."""
        if not await self.can_recall_by_meaning():
            return ()
        return [
            to_item(row._mapping) for row in await self._database.rows(missing(session_ids, model, limit))
        ]

    async def near_items(self, session_id: SessionId) -> Sequence[tuple[ItemId, ItemId]]:
        """Return pairs of items that are near; see `BankStore.near_items`."""
        if not await self.can_recall_by_meaning():
            return ()
        return [(row.item_id, row.other_id) for row in await self._database.rows(pairs(session_id))]

    async def put_vectors(self, model: str, vectors: Sequence[ItemVector]) -> None:
        """Store the vectors of items; see `BankStore.put_vectors`."""
        if await self.can_recall_by_meaning():
            await self._vectors.put(model, vectors)

    async def unembedded_pieces(
        self, session_id: SessionId, model: str, hashes: Collection[str]
    ) -> Collection[str]:
        """Return pieces without a vector; see `BankStore.unembedded_pieces`."""
        if not hashes or not await self.can_recall_by_meaning():
            return ()
        return await self._database.read(
            lambda connection: missing_pieces(connection, session_id, model, hashes)
        )

    async def put_piece_vectors(
        self, session_id: SessionId, model: str, vectors: Sequence[PieceVector]
    ) -> None:
        """Store the vectors of pieces; see `BankStore.put_piece_vectors`."""
        if vectors and await self.can_recall_by_meaning():
            await self._vectors.put_pieces(session_id, model, vectors)

    async def near_pieces(
        self, session_ids: Collection[SessionId], model: str, vector: Vector, limit: int
    ) -> Sequence[NearPiece]:
        """Return the nearest pieces; see `BankStore.near_pieces`."""
        if not session_ids or not await self.can_recall_by_meaning():
            return ()
        return await self._database.read(
            lambda connection: near(connection, session_ids, model, vector, limit)
        )


@cache
def _versions(*, with_all: bool, of_canon: bool, of_kinds: bool) -> Select[Any]:
    """Return the query for the versions of the items of a chapter; see `BankStore.items`."""
    item = BANK_ITEM.c
    query = select(key_of(item), item.version, time_of(item).label("time"))
    query = query.where(item.session_id == bindparam("session", type_=Uuid))
    if not with_all:
        query = query.where(is_of_canon(item) if of_canon else counts(item))
    if of_kinds:
        query = query.where(item.kind == any_(bindparam("kinds", type_=ARRAY(Text))))
    return query.order_by(item.prompt_index, item.item_id)


def _having() -> Select[Any]:
    """Return the query for the versions of items that may have words; see `BankStore.having`.

    Whether an item counts takes the server longer than its texts do, and is asked of those that match alone.
    """
    item = BANK_ITEM.c
    texts = func.concat_ws(" ", item.name, item.text, cast(item.details, Text), cast(item.evidence, Text))
    matches = texts.op("~", is_comparison=True)(all_(bindparam("patterns", type_=ARRAY(Text))))
    return (
        select(key_of(item), item.version, time_of(item).label("time"))
        .where(item.session_id == bindparam("session", type_=Uuid), matches, counts(item))
        .order_by(item.prompt_index.desc(), item.item_id.desc())
        .limit(bindparam("most", type_=Integer))
        .offset(bindparam("skipped", type_=Integer))
    )


def _names() -> Select[Any]:
    """Return the query for the names of people and places; see `BankStore.all_names`."""
    item = BANK_ITEM.c
    is_there = item.session_id == any_(bindparam("sessions", type_=ARRAY(Uuid)))
    kinds = [kind.value for kind in NAMED]
    return select(item.name).distinct().where(is_there, item.kind.in_(kinds), counts(item))


def _earlier_chapters() -> Select[Any]:
    """Return the query for the chapters before one in its story; see `BankStore.earlier_chapters`."""
    own, other = BOOK_CHAPTER.alias("own"), BOOK_CHAPTER.alias("other")
    in_one_book = own.c.book_id == other.c.book_id
    # The chapter, the one that the beginning of its book is a copy of, and so on. Two books may each begin
    # with a copy of a chapter of the other one, so none is looked into twice.
    story = (
        select(SESSION.c.id, own.c.book_id, literal(0).label("steps"))
        .add_columns(array([func.coalesce(own.c.book_id, SESSION.c.id)]).label("seen"))
        .join_from(SESSION, own, own.c.session_id == SESSION.c.id, isouter=True)
        .where(SESSION.c.id == bindparam("session", type_=Uuid))
        .cte("story", recursive=True)
    )
    first = select(other.c.session_id).where(other.c.book_id == story.c.book_id)
    first = first.order_by(other.c.place).limit(1).correlate(story)
    beginning, origin = SESSION.alias("beginning"), SESSION.alias("origin")
    is_in = func.coalesce(own.c.book_id, origin.c.id)
    story = story.union_all(
        select(origin.c.id, own.c.book_id, story.c.steps + 1, func.array_append(story.c.seen, is_in))
        .join_from(story, beginning, beginning.c.id == func.coalesce(first.scalar_subquery(), story.c.id))
        .join(origin, origin.c.id == beginning.c.branched_from)
        .outerjoin(own, own.c.session_id == origin.c.id)
        .where(is_in != all_(story.c.seen))
    )
    before = (
        select(other.c.session_id, other.c.place, story.c.steps)
        .join_from(story, own, own.c.session_id == story.c.id)
        .join(other, in_one_book & (other.c.place < own.c.place))
        .subquery("before")
    )
    # Deleted chapters leave gaps in the places, and none in the numbers.
    number = func.row_number().over(order_by=(before.c.steps.desc(), before.c.place)).label("number")
    numbered = select(before.c.session_id, number).subquery("numbered")
    versions = (
        select(SESSION.c.branched_from.label("id"))
        .where(SESSION.c.id == bindparam("session", type_=Uuid))
        .cte("versions", recursive=True)
    )
    versions = versions.union(
        select(SESSION.c.branched_from).join_from(versions, SESSION, SESSION.c.id == versions.c.id)
    )
    return (
        select(SESSION.c.id, SESSION.c.prompt_index, SESSION.c.slots, SESSION.c.names, numbered.c.number)
        .add_columns(SESSION.c.language, TAB1_INPUT.c.profiles)
        .add_columns(statuses_of(SESSION.c.id).scalar_subquery().label("statuses"))
        .join_from(numbered, SESSION, SESSION.c.id == numbered.c.session_id)
        .join(TAB1_INPUT, TAB1_INPUT.c.session_id == SESSION.c.id)
        .where(~exists().where(versions.c.id == SESSION.c.id))
        .order_by(numbered.c.number)
    )


_EARLIER: Final = _earlier_chapters()
_HAVING: Final = _having()
_NAMES: Final = _names()
