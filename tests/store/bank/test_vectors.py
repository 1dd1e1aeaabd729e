"""The table of vectors: made where pgvector can be, once, and left out of backups; else words are enough."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from core.domain.bank.item import Item
from core.domain.bank.pieces import PieceVector
from core.domain.bank.recall import ItemVector, Query, Scope, query_words, signs_of
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.storage.changes import Changes
from db.backups.dump import backup, restore
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
