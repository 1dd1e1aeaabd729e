"""The table of vectors: made where pgvector can be, once, and left out of backups; else words are enough."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import cos, sin
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from core.domain.audience import EVERYONE, Audience
from core.domain.bank.item import Item
from core.domain.bank.pieces import PieceVector
from core.domain.bank.recall import ItemVector, Query, Scope, query_words, signs_of
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.storage.changes import Changes
from db.backups.dump import backup, restore
from db.bank.recall_connection import RecallConnection
from db.store import PostgresStore, open_store
from tests.core.values.bank import fact
from tests.store import chapters

pytestmark = pytest.mark.anyio
INDEX = "SELECT to_regclass('ix_bank_vector_3')::text"
COUNT = "SELECT count(*) FROM bank_vector"
PIECES = "SELECT count(*) FROM piece_vector"


async def kept(store: PostgresStore) -> Session:
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    item = fact(1, session_id=session.id)
    await store.commit(Changes(session_id=session.id, items=(item,)), lease)
    await lease.aclose()
    return session


def asked(session: Session) -> Query:
    scope = Scope(session_id=session.id, mask=1, now=4)
    words = query_words([("the brass key", 1.0)])
    return Query(session_id=session.id, scopes=(scope,), words=words, vector=(1.0, 0.0), model="m", limit=5)


async def test_two_windows_that_ask_at_once_find_one_table(url: str, store: PostgresStore) -> None:
    other = await open_store(url)
    made = await asyncio.gather(store.bank.can_recall_by_meaning(), other.bank.can_recall_by_meaning())
    assert all(made)
    await other.aclose()


async def test_the_table_of_an_earlier_version_gets_the_parts_of_names_and_keeps_its_vectors(
    url: str, store: PostgresStore, raw: psycopg.Connection
) -> None:
    session = await kept(store)
    assert await store.bank.can_recall_by_meaning()
    vector = ItemVector(session_id=session.id, item_id=fact(1).id, version=1, vector=(1.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    raw.execute("ALTER TABLE bank_vector DROP COLUMN first_part, DROP COLUMN last_part")
    other = await open_store(url)
    assert await other.bank.can_recall_by_meaning()
    query = replace(asked(session), words=(), spans=(signs_of((1.0, 1.0)),))
    assert [one.similarity for one in await other.bank.recall(query)] == pytest.approx([1.0], abs=0.001)
    await other.bank.put_vectors("m", [replace(vector, name_parts=((1.0, -1.0), (0.5, 0.5)))])
    assert raw.execute("SELECT first_part::text, last_part::text FROM bank_vector").fetchall() == [
        ("10", "11")
    ]
    with pytest.raises(psycopg.errors.CheckViolation):
        raw.execute("UPDATE bank_vector SET last_part = B'101'")
    await other.aclose()


async def test_a_chapter_that_keeps_no_bank_makes_none(store: PostgresStore, raw: psycopg.Connection) -> None:
    session, lease = await chapters.locked_session(store)
    await store.load(session.id)
    await lease.aclose()
    [(table,)] = raw.execute("SELECT to_regclass('bank_vector')").fetchall()
    assert table is None


async def test_without_the_right_to_make_it_items_are_found_by_words(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(_: object) -> None:
        """Make nothing, as on a server whose administrator is someone else."""

    monkeypatch.setattr("db.bank.vectors.VectorTable._let_in", nobody)
    session = await kept(store)
    assert not await store.bank.can_recall_by_meaning()
    assert not await store.bank.unembedded([session.id], "m", 5)
    vector = ItemVector(session_id=session.id, item_id=fact(1).id, version=1, vector=(1.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    [found] = await store.bank.recall(asked(session))
    assert found.similarity is None


async def test_the_vectors_of_a_chapter_are_read_by_their_keys_the_last_first(store: PostgresStore) -> None:
    """In another order it takes a third longer; none of that shows but the time."""
    session = await kept(store)
    assert await store.bank.can_recall_by_meaning()
    vector = ItemVector(session_id=session.id, item_id=fact(1).id, version=1, vector=(1.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    await store.bank.recall(asked(session))

    async def work(connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> str:
        run = "SELECT name, cardinality(parameter_types) FROM pg_prepared_statements"
        run += " WHERE statement LIKE '%nearest AS MATERIALIZED%'"
        [(name, count)] = await (await connection.execute(run)).fetchall()
        plan = await connection.execute(f'EXPLAIN EXECUTE "{name}" ({", ".join(["NULL"] * count)})')
        return "\n".join(str(line) for (line,) in await plan.fetchall())

    plan = await store.bank._meaning_connection._connection.run(work)
    assert plan.count("Index Scan Backward using pk_bank_vector") == 2, "the nearest, and those farther off"
    assert "Scan on bank_vector" not in plan, "no walk through the table, in its order or by a bitmap"


async def test_vectors_of_another_length_are_passed_over_and_made_again_with_the_first_new_one(
    store: PostgresStore,
) -> None:
    """A service that answers by another model under the same name does not take the words along."""
    session = await kept(store)
    other = fact(2, session_id=session.id)
    await store.bank.put([other])

    async def put(*numbers: float, item_id: ItemId) -> None:
        vector = ItemVector(session_id=session.id, item_id=item_id, version=1, vector=numbers)
        await store.bank.put_vectors("m", [vector])

    await put(1.0, 0.0, 0.0, item_id=fact(1).id)
    await store.bank.put_piece_vectors(session.id, "m", [PieceVector("0" * 64, (1.0, 0.0, 0.0))])
    found = await store.bank.recall(asked(session))
    assert [one.similarity for one in found] == [None, None]
    assert not await store.bank.near_pieces([session.id], "m", (1.0, 0.0), 5)
    await put(1.0, 0.0, item_id=other.id)
    assert [item.id for item in await store.bank.unembedded([session.id], "m", 5)] == [fact(1).id]
    await put(1.0, 0.0, item_id=fact(1).id)
    assert not await store.bank.unembedded([session.id], "m", 5)
    assert all(one.similarity for one in await store.bank.recall(asked(session)))


async def test_a_service_that_changes_its_length_back_again_leaves_none_of_the_other_length(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    session = await kept(store)
    await store.bank.put([fact(2, session_id=session.id)])
    lengths = "SELECT vector_dims(embedding) FROM {} ORDER BY 1"
    for number, numbers in enumerate([(1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0)]):
        vector = ItemVector(session_id=session.id, item_id=fact(1 + number % 2).id, version=1, vector=numbers)
        await store.bank.put_vectors("m", [vector])
        await store.bank.put_piece_vectors(session.id, "m", [PieceVector(str(number) * 64, numbers)])
        for table in ("bank_vector", "piece_vector"):
            assert raw.execute(lengths.format(table)).fetchall() == [(len(numbers),)]
    pieces = [str(number) * 64 for number in range(3)]
    assert await store.bank.unembedded_pieces(session.id, "m", pieces) == {*pieces[:2]}


async def test_what_is_pinned_is_recalled_also_while_its_vector_has_another_length(
    store: PostgresStore,
) -> None:
    session = await kept(store)
    [item] = await store.bank.items(session.id)
    await store.bank.put([replace(item.next_version(item.updated_at), is_pinned=True)])
    vector = ItemVector(session_id=session.id, item_id=item.id, version=2, vector=(1.0, 0.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    query = replace(asked(session), words=(), is_for_input=True)
    [found] = await store.bank.recall(query)
    assert (found.item.id, found.similarity) == (item.id, None)
    await store.bank.put_vectors("m", [replace(vector, vector=(0.6, 0.8))])
    [found] = await store.bank.recall(query)
    assert found.similarity == pytest.approx(0.6, abs=0.001)


async def with_vectors(store: PostgresStore) -> tuple[Session, Item]:
    """Store a chapter, an item of it, and vectors of the item and of a piece of text."""
    session = await kept(store)
    [item] = await store.bank.unembedded([session.id], "m", 5)
    vector = ItemVector(session_id=session.id, item_id=item.id, version=1, vector=(1.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    await store.bank.put_piece_vectors(session.id, "m", [PieceVector("a" * 64, (1.0, 0.0))])
    return session, item


async def test_a_backup_has_no_vectors_and_after_it_is_restored_they_are_missing(
    url: str, store: PostgresStore, raw: psycopg.Connection, tmp_path: Path
) -> None:
    session, item = await with_vectors(store)
    assert raw.execute(COUNT).fetchone() == (1,)
    assert raw.execute(PIECES).fetchone() == (1,)
    file = tmp_path / "backup"
    await backup(url, file)
    await restore(url, file, replace=True)
    assert raw.execute(COUNT).fetchone() == (0,)
    assert raw.execute(PIECES).fetchone() == (0,)
    again = await open_store(url)
    assert list(await again.bank.unembedded([session.id], "m", 5)) == [item]
    [found] = await again.bank.recall(replace(asked(session), vector=None))
    assert found.item == item
    await again.aclose()


async def test_a_purged_chapter_leaves_neither_words_nor_vectors(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    session, _ = await with_vectors(store)
    await store.chapters.archive(session.id, session.created_at)
    await store.chapters.purge(session.id)
    assert raw.execute(COUNT).fetchone() == (0,)
    assert raw.execute(PIECES).fetchone() == (0,)
    assert raw.execute("SELECT count(*) FROM bank_word").fetchone() == (0,)


async def test_many_vectors_get_an_index_that_finds_what_a_look_at_each_of_them_finds(
    store: PostgresStore, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.bank.vector_index.INDEXED_FROM", 40)
    monkeypatch.setattr("db.bank.vector_index.USED_FROM", 40)
    monkeypatch.setattr("db.bank.vector_index._COUNT_ALL", sa.text("SELECT count(*) FROM bank_vector"))
    session, made = await _with_items(store, range(1, 121))
    mask = Audience.of((Slot.RED,)).mask
    query = replace(asked(session), words=(), vector=(0.2, 0.9, 0.0), limit=30)
    query = replace(query, scopes=(replace(query.scopes[0], mask=mask),))
    await store.bank.put_vectors("m", made[:10])
    assert raw.execute(INDEX).fetchone() == (None,), "few vectors need none"
    exact = await _found_without_index(store, query, made, monkeypatch)
    await store.bank.put_vectors("m", made)
    assert raw.execute(INDEX).fetchone() == ("ix_bank_vector_3",)
    with statements(store) as run:
        found = await store.bank.recall(query)
    assert _ask_index(run)
    assert [one.item.id for one in found] == exact
    assert {one.item.label for one in found} == {EVERYONE}
    fitting = await store.bank.recall(replace(query, spans=(signs_of((1.0, -1.0, 1.0)),)))
    assert [one.item.id for one in fitting] != exact
    assert {one.item.id for one in fitting} == {*exact}, "what fits the parts of the query comes first"


async def test_a_story_that_is_a_small_part_of_all_is_looked_at_without_the_index(
    store: PostgresStore, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.bank.vector_index.INDEXED_FROM", 40)
    monkeypatch.setattr("db.bank.vector_index.USED_FROM", 40)
    monkeypatch.setattr("db.bank.vector_index._COUNT_ALL", sa.text(COUNT))
    small, made = await _with_items(store, range(1, 61))
    await store.bank.put_vectors("m", made)
    _, some = await _with_items(store, range(1_001, 1_021))
    await store.bank.put_vectors("m", some)
    query = replace(asked(small), words=(), vector=(0.2, 0.9, 0.0), limit=30)
    with statements(store) as run:
        found = await store.bank.recall(query)
    assert _ask_index(run), "it is most of all"
    assert {one.item.session_id for one in found} == {small.id}
    _, others = await _with_items(store, range(2_001, 2_121))
    await store.bank.put_vectors("m", others)
    raw.execute("ANALYZE bank_vector")
    store.bank._vectors.index._numbers.clear()
    with statements(store) as run:
        assert await store.bank.recall(query) == found
    assert not _ask_index(run)


async def _with_items(store: PostgresStore, numbers: range) -> tuple[Session, list[ItemVector]]:
    """Make a chapter with these items, of which one character knows half, and return their vectors."""
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    labels = (EVERYONE, Audience.of((Slot.BLUE,)))
    items = tuple(fact(one, session_id=session.id, label=labels[one % 2]) for one in numbers)
    await store.commit(Changes(session_id=session.id, items=items), lease)
    await lease.aclose()
    assert await store.bank.can_recall_by_meaning()
    return session, [
        ItemVector(
            session_id=session.id,
            item_id=one.id,
            version=1,
            vector=(cos(one.id.int / 50), sin(one.id.int / 50), 0.1),
            name_parts=((1.0, one.id.int % 7 - 3, 1.0), (one.id.int % 5 - 2, 1.0, 1.0)),
        )
        for one in items
    ]


def _ask_index(run: list[str]) -> bool:
    """Whether one of these statements asks the index of vectors of three numbers."""
    return any("halfvec(3)" in one for one in run)


async def _found_without_index(
    store: PostgresStore, query: Query, made: list[ItemVector], monkeypatch: pytest.MonkeyPatch
) -> list[ItemId]:
    """Return what is found while no index is made."""
    with monkeypatch.context() as patched:
        patched.setattr("db.bank.vector_index.INDEXED_FROM", 1_000)
        await store.bank.put_vectors("m", made)
        found = await store.bank.recall(query)
    store.bank._vectors.index._until_check = 0
    assert len(found) == query.limit
    return [one.item.id for one in found]


@contextmanager
def statements(store: PostgresStore) -> Iterator[list[str]]:
    """List the statements of recall that a store runs."""
    run: list[str] = []
    tuples = RecallConnection.tuples

    async def noted(self: RecallConnection, statement: Any, values: Any, **how: Any) -> object:
        run.append(str(statement))
        return await tuples(self, statement, values, **how)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RecallConnection, "tuples", noted)
        yield run
