"""The table of vectors: made where pgvector can be, once, and left out of backups; else words are enough."""

import asyncio
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from core.changes import Changes
from core.domain.bank.pieces import PieceVector
from core.domain.bank.recall import ItemVector, Query, Scope, query_words
from core.domain.session.session import Session
from db.backups.dump import backup, restore
from db.store import PostgresStore, open_store
from tests.core.bank_samples import fact
from tests.store import chapters

pytestmark = pytest.mark.anyio
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


async def test_a_backup_has_no_vectors_and_after_it_is_restored_they_are_missing(
    url: str, store: PostgresStore, raw: psycopg.Connection, tmp_path: Path
) -> None:
    session = await kept(store)
    [item] = await store.bank.unembedded([session.id], "m", 5)
    vector = ItemVector(session_id=session.id, item_id=item.id, version=1, vector=(1.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    await store.bank.put_piece_vectors(session.id, "m", [PieceVector("a" * 64, (1.0, 0.0))])
    assert raw.execute(COUNT).fetchone() == (1,)
    assert raw.execute(PIECES).fetchone() == (1,)
    file = tmp_path / "backup"
    await backup(url, file)
    await restore(url, file, replace=True)
    tables = raw.execute("SELECT to_regclass('bank_vector'), to_regclass('piece_vector')").fetchall()
    assert tables == [(None, None)]
    again = await open_store(url)
    assert list(await again.bank.unembedded([session.id], "m", 5)) == [item]
    [found] = await again.bank.recall(replace(asked(session), vector=None))
    assert found.item == item
    await again.aclose()


async def test_a_purged_chapter_leaves_neither_words_nor_vectors(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    session = await kept(store)
    [item] = await store.bank.unembedded([session.id], "m", 5)
    vector = ItemVector(session_id=session.id, item_id=item.id, version=1, vector=(1.0, 0.0))
    await store.bank.put_vectors("m", [vector])
    await store.bank.put_piece_vectors(session.id, "m", [PieceVector("a" * 64, (1.0, 0.0))])
    await store.archive(session.id, session.created_at)
    await store.purge(session.id)
    assert raw.execute(COUNT).fetchone() == (0,)
    assert raw.execute(PIECES).fetchone() == (0,)
    assert raw.execute("SELECT count(*) FROM bank_word").fetchone() == (0,)
