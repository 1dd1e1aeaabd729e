"""The connections of recall: they plan once, are opened again when lost, and read each version once."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.bank.item import Item, Validation
from core.domain.bank.recall import ItemVector, Query, Scope, query_words
from core.domain.errors import StorageError
from core.domain.session.language import Language
from core.domain.session.session import Session
from db.bank import recall
from db.bank.item_reader import FoundRow, ItemReader
from db.bank.parameters import array_of
from db.bank.recall_connection import RecallConnection
from db.errors import LOAD
from db.rows.bank_mapping import to_items
from db.store import PostgresStore
from db.writes.commit_connection import CommitConnection
from tests.core.values.bank import fact
from tests.store.chapters import with_items

pytestmark = pytest.mark.anyio


def query(session: Session, text: str = "the brass key") -> Query:
    scope = Scope(session_id=session.id, mask=1, now=3)
    return Query(session_id=session.id, scopes=(scope,), words=query_words([(text, 1.0)]), limit=20)


async def test_the_statement_of_recall_is_planned_once_whatever_is_asked(store: PostgresStore) -> None:
    session = await with_items(store, fact(1), fact(2))
    for text in ("the brass key", "who hid it", "a boat in the harbour of 1812"):
        await store.bank.recall(query(session, text))
    plans = "SELECT sum(generic_plans), sum(custom_plans), count(*) FROM pg_prepared_statements"
    plans += " WHERE statement LIKE '%bank_word%'"
    [(generic, custom, statements)] = await on_its_connection(store, plans)
    assert (generic, custom, statements) == (3, 0, 1)


async def on_its_connection(store: PostgresStore, text: str) -> Sequence[tuple[Any, ...]]:
    async def work(connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        return await (await connection.execute(text)).fetchall()

    return await store.bank._connection._connection.run(work)


async def test_a_lost_connection_is_opened_again_with_its_settings(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    session = await with_items(store, fact(1))
    [found] = await store.bank.recall(query(session))
    [(process,)] = await on_its_connection(store, "SELECT pg_backend_pid()")
    assert raw.execute("SELECT pg_terminate_backend(%s)", (process,)).fetchone() == (True,)
    [again] = await store.bank.recall(query(session))
    assert again == found
    assert await on_its_connection(store, "SHOW plan_cache_mode") == [("force_generic_plan",)]


def texts_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the texts of items that are read from now on."""
    read: list[str] = []

    def noted(columns: dict[str, Any]) -> list[Item]:
        read.extend(columns["text"])
        return to_items(columns)

    monkeypatch.setattr("db.bank.item_reader.to_items", noted)
    return read


async def test_a_list_of_items_reads_those_alone_that_were_changed_since(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.bank.item_reader._AT_ONCE", 2)
    session = await with_items(store, *map(fact, range(1, 6)))
    read = texts_read(monkeypatch)
    first = await store.bank.items(session.id)
    assert len(first) == 5
    assert read == [item.text for item in first]
    read.clear()
    assert await store.bank.items(session.id, with_all=True) == first
    assert read == []
    changed = replace(first[3].next_version(first[3].updated_at), is_pinned=True)
    await store.bank.put([changed])
    assert await store.bank.items(session.id) == [*first[:3], changed, first[4]]
    assert read == [changed.text]


async def test_a_list_with_more_items_than_are_kept_otherwise_is_not_read_anew_each_time(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.bank.item_reader.MOST_KEPT", 3)
    monkeypatch.setattr("db.bank.item_reader._AT_ONCE", 2)
    monkeypatch.setattr(store.bank._items, "_most", 3)
    session = await with_items(store, *map(fact, range(1, 6)))
    read = texts_read(monkeypatch)
    first = await store.bank.items(session.id)
    assert len(read) == 5
    assert await store.bank.items(session.id) == first
    assert len(read) == 5


async def test_the_next_versions_of_items_send_their_words_once_to_each_table(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    execute = AsyncConnection.execute

    async def noted(self: AsyncConnection, statement: Any, parameters: Any = None, **more: Any) -> Any:
        sent.append(str(parameters))
        return await execute(self, statement, parameters, **more)

    session = await with_items(store, fact(1), fact(2))
    first, other = await store.bank.items(session.id)
    monkeypatch.setattr(AsyncConnection, "execute", noted)
    pinned = [replace(item.next_version(item.updated_at), is_pinned=True) for item in (first, other)]
    await store.bank.put(pinned)
    assert sum(first.text in text for text in sent) == 2, "the item and its version"
    assert await store.bank.items(session.id) == pinned


@pytest.mark.parametrize("is_recalled", [False, True], ids=["listed", "recalled"])
async def test_no_item_is_listed_or_recalled_that_is_rejected_while_it_is_read(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, is_recalled: bool
) -> None:
    session = await with_items(store, fact(1), fact(2))
    [item, other] = await store.bank.items(session.id)
    rejected = replace(item.next_version(item.updated_at), validation=Validation.REJECTED)
    left, read = [rejected], ItemReader.read

    async def late(self: ItemReader, found: Sequence[FoundRow]) -> Sequence[Item | None]:
        if left:
            await store.bank.put([left.pop()])
            self._kept.clear()
        return await read(self, found)

    monkeypatch.setattr(ItemReader, "read", late)
    if is_recalled:
        assert [one.item for one in await store.bank.recall(query(session))] == [other]
    else:
        assert await store.bank.items(session.id) == [other]


async def test_the_words_of_an_item_stay_where_a_change_has_the_same_texts(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    def stored() -> set[tuple[object, ...]]:
        return set(raw.execute("SELECT word, item_id, xmin::text, ctid::text FROM bank_word").fetchall())

    session = await with_items(store, fact(1), fact(2))
    words, [item, _] = stored(), await store.bank.items(session.id)
    pinned = replace(item.next_version(item.updated_at), is_pinned=True)
    await store.bank.put([pinned])
    assert stored() == words
    edited = replace(pinned.next_version(item.updated_at), text="Kara sold a lantern.")
    await store.bank.put([edited])
    assert {word for word, item_id, *_ in stored() if item_id == item.id} >= {"lantern", "sold"}
    assert {one for one in stored() if one[1] != item.id} == {one for one in words if one[1] != item.id}


async def test_a_change_of_an_item_is_recalled_and_what_did_not_change_is_read_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await with_items(store, fact(1), fact(2))
    found = {one.item.id: one.item for one in await store.bank.recall(query(session))}
    changed = found[fact(1).id].next_version(found[fact(1).id].updated_at)
    await store.bank.put([replace(changed, text="Kara sold the brass key.")])
    read = texts_read(monkeypatch)
    again = {one.item.id: one.item for one in await store.bank.recall(query(session))}
    assert read == ["Kara sold the brass key."]
    assert again[fact(1).id].text == "Kara sold the brass key."
    assert again[fact(2).id] is found[fact(2).id]


async def test_an_item_that_is_kept_is_read_once_whatever_the_times_of_others_are(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [fact(1).updated_at + timedelta(minutes=one) for one in range(3)]
    items = [replace(fact(one), created_at=time, updated_at=time) for one, time in enumerate(times, start=1)]
    session = await with_items(store, *items)
    read = texts_read(monkeypatch)
    assert [item.updated_at for item in await store.bank.items(session.id)] == times
    read.clear()
    await store.bank.items(session.id)
    assert read == []


async def test_items_that_were_deleted_meanwhile_are_none_of_those_that_are_read(
    store: PostgresStore,
) -> None:
    assert await store.bank._items.read([(bytes(32), 1, bytes(8)), (bytes(32), 1, bytes(8))]) == [None, None]


async def with_a_vector(store: PostgresStore) -> Session:
    """Return a chapter with two items, of which one has a vector."""
    session = await with_items(store, fact(1), fact(2))
    assert await store.bank.can_recall_by_meaning()
    vector = ItemVector(session_id=session.id, item_id=fact(2).id, version=1, vector=(1.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    return session


async def test_a_connection_is_busy_as_long_as_a_statement_waits_for_it(store: PostgresStore) -> None:
    connection = store.bank._connection

    async def is_busy_behind_it() -> bool:
        await connection.tuples(sa.select(sa.literal(1)), {})
        return connection.is_busy

    assert not connection.is_busy
    async with asyncio.timeout(60):
        assert [*await asyncio.gather(is_busy_behind_it(), is_busy_behind_it())] == [True, False]


async def test_what_is_found_by_meaning_is_looked_for_beside_the_rest(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await with_a_vector(store)
    both = replace(query(session), vector=(1.0, 0.1), model="m")
    await store.bank.recall(both)
    begun, tuples = asyncio.Barrier(2), RecallConnection.tuples

    async def together(self: RecallConnection, *what: Any, **how: Any) -> Sequence[tuple[Any, ...]]:
        await begun.wait()
        return await tuples(self, *what, **how)

    monkeypatch.setattr(RecallConnection, "tuples", together)
    async with asyncio.timeout(60):
        found = await store.bank.recall(both)
    assert {one.item.id: one.similarity is not None for one in found} == {fact(1).id: False, fact(2).id: True}


async def test_what_is_found_by_meaning_is_read_while_words_are_still_looked_for(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await with_a_vector(store)
    is_read, run = asyncio.Event(), CommitConnection.run

    def noted(columns: dict[str, Any]) -> list[Item]:
        is_read.set()
        return to_items(columns)

    async def late(self: CommitConnection, work: Any) -> object:
        async def waiting(connection: object) -> object:
            if self is store.bank._connection._connection:
                await is_read.wait()
            return await work(connection)

        return await run(self, waiting)

    await store.bank.recall(query(session))
    store.bank._items._kept.clear()
    monkeypatch.setattr("db.bank.item_reader.to_items", noted)
    monkeypatch.setattr(CommitConnection, "run", late)
    async with asyncio.timeout(60):
        found = await store.bank.recall(replace(query(session), vector=(1.0, 0.1), model="m"))
    assert {one.item.id for one in found} == {fact(1).id, fact(2).id}


async def test_where_one_statement_fails_the_other_is_given_up(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await with_items(store, fact(1))
    assert await store.bank.can_recall_by_meaning()
    begun, ended = asyncio.Event(), asyncio.Event()

    async def stuck(*_: object, **__: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def failing(*_: object, **__: object) -> None:
        await begun.wait()
        raise StorageError(LOAD, "The database is gone.", "")

    monkeypatch.setattr(store.bank._meaning_connection, "tuples", stuck)
    monkeypatch.setattr(store.bank._connection, "tuples", failing)
    async with asyncio.timeout(60):
        with pytest.raises(StorageError):
            await store.bank.recall(replace(query(session), vector=(1.0, 0.1), model="m"))
        await ended.wait()


async def test_words_alone_are_looked_for_over_one_connection(store: PostgresStore) -> None:
    session = await with_items(store, fact(1))
    assert await store.bank.recall(query(session))
    assert store.bank._meaning_connection._connection._connection is None


async def test_no_connection_is_opened_for_a_few_items_where_the_other_one_is_busy(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await with_items(store, fact(1), fact(2))
    monkeypatch.setattr(store.bank._connection, "_asked", 1)
    assert len(await store.bank.items(session.id)) == 2
    assert not store.bank._meaning_connection.is_open
    monkeypatch.setattr("db.bank.item_reader._MANY", 2)
    store.bank._items._kept.clear()
    assert len(await store.bank.items(session.id)) == 2
    assert store.bank._meaning_connection.is_open


@pytest.fixture
def few_tell(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a word tell nothing from three items on."""
    monkeypatch.setattr("db.bank.recall_parts.MOST_WITH_A_WORD", 2)
    recall._lookup.cache_clear()
    yield
    recall._lookup.cache_clear()


@pytest.mark.usefixtures("few_tell")
async def test_a_word_that_too_many_items_of_all_chapters_together_have_tells_nothing(
    store: PostgresStore,
) -> None:
    first = await with_items(store, fact(1), fact(2))
    second = await with_items(store, fact(3, text="Tam has a brass key of a boat."))
    one, other = query(first, "brass"), query(second, "brass")
    assert len(await store.bank.recall(one)) == 2
    assert len(await store.bank.recall(other)) == 1
    book = replace(query(first, "brass boat"), scopes=(*one.scopes, *other.scopes))
    [found] = await store.bank.recall(book)
    assert found.words == ("boat",)


@pytest.mark.usefixtures("few_tell")
async def test_a_word_counts_in_chapters_of_its_language_alone(store: PostgresStore) -> None:
    """“running” is “run” in English, and stays as it is in German."""
    english = await with_items(store, fact(1, name="A run", text="Tam likes to run."))
    other = await with_items(store, fact(2, name="A run", text="Tam likes to run."))
    asked = query(english, "running")
    german = replace(asked.scopes[0], session_id=other.id, language=Language.GERMAN)
    [found] = await store.bank.recall(replace(asked, scopes=(*asked.scopes, german)))
    assert found.item.session_id == english.id


async def test_a_common_word_at_the_beginning_of_a_prompt_is_looked_up_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await with_items(store, fact(1))
    scopes, run, rows = query(session).scopes, list[object](), RecallConnection.rows

    async def noted(self: RecallConnection, *what: Any, **how: Any) -> Sequence[dict[str, Any]]:
        run.append(what)
        return await rows(self, *what, **how)

    monkeypatch.setattr(RecallConnection, "rows", noted)
    assert [(await store.bank.names(scopes, ["what", "brass"])).unknown for _ in range(2)] == [(), ()]
    assert not (await store.bank.names(scopes, ["what"])).unknown
    assert len(run) == 2, "a word that an item has may be lost"
    german = [replace(one, language=Language.GERMAN) for one in scopes]
    assert (await store.bank.names(german, ["what"])).unknown == ("what",)
    assert (await store.bank.names(scopes, ["what", "brasss"])).unknown == ("brasss",)


@pytest.mark.parametrize("name", ["hnsw.iterative_scan", "hnsw.of_another_version"])
async def test_the_index_has_the_settings_that_its_version_of_pgvector_knows(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("db.bank.recall_connection._ITERATIVE", name)
    assert await store.bank.can_recall_by_meaning()
    names = ("enable_sort", "hnsw.ef_search", "hnsw.iterative_scan")
    setting = sa.select(*(sa.func.current_setting(one, True) for one in names))
    connection = store.bank._meaning_connection
    for count, expected in ((150, "150"), (5_000, "1000"), (30, "100")):
        [found] = await connection.tuples(setting, {}, is_binary=False, by_index=count)
        assert found == ("off", expected, "strict_order" if name in names else "off")
    [found] = await connection.tuples(setting, {}, is_binary=False)
    assert found[0] == "on"


def test_an_array_in_text_has_the_values_that_it_was_made_of(raw: psycopg.Connection) -> None:
    words = ['a"b', "c\\d", "{e,f}", "NULL", "", " g ", None]
    assert raw.execute("SELECT CAST(%s AS text[])", (array_of(words),)).fetchone() == (words,)
    assert raw.execute("SELECT CAST(%s AS float[])", (array_of([0.1, 1e-9]),)).fetchone() == ([0.1, 1e-9],)
    assert raw.execute("SELECT CAST(%s AS boolean[])", (array_of([True, False]),)).fetchone() == (
        [True, False],
    )
