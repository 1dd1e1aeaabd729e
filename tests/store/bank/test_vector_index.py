"""The index of vectors: made where there are many, and asked where that is faster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import cos, sin
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from core.domain.audience import EVERYONE, Audience
from core.domain.bank.recall import ItemVector, Query, Scope, signs_of
from core.domain.errors import StorageError
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.storage.changes import Changes
from db.bank.recall_connection import RecallConnection
from db.bank.vector_index import VectorIndex, is_faster
from db.store import PostgresStore
from tests.core.values.bank import fact
from tests.store import chapters

pytestmark = pytest.mark.anyio
INDEX = "SELECT to_regclass('ix_bank_vector_3')::text"
COUNT = "SELECT count(*) FROM bank_vector"


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits from which the index is made and asked to forty vectors."""
    monkeypatch.setattr("db.bank.vector_index.INDEXED_FROM", 40)
    monkeypatch.setattr("db.bank.vector_index.USED_FROM", 40)
    monkeypatch.setattr("db.bank.vector_index._COUNT_ALL", sa.text(COUNT))


async def with_items(store: PostgresStore, numbers: range) -> tuple[Session, list[ItemVector]]:
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


async def stored(store: PostgresStore, vectors: list[ItemVector]) -> None:
    """Store vectors, with a look behind it at how many there are."""
    index_of(store)._until_check = 0
    await store.bank.put_vectors("m", vectors)


def index_of(store: PostgresStore) -> VectorIndex:
    return store.bank._vectors.index


def asked(session: Session, mask: int = 0) -> Query:
    """Return a query by meaning alone."""
    scope = Scope(session_id=session.id, mask=mask, now=4)
    return Query(session_id=session.id, scopes=(scope,), vector=(0.2, 0.9, 0.0), model="m", limit=30)


@contextmanager
def statements() -> Iterator[list[str]]:
    """List the statements of recall that run."""
    run: list[str] = []
    tuples = RecallConnection.tuples

    async def noted(self: RecallConnection, statement: Any, values: Any, **how: Any) -> object:
        run.append(str(statement))
        return await tuples(self, statement, values, **how)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RecallConnection, "tuples", noted)
        yield run


def ask_index(run: list[str]) -> bool:
    """Whether one of these statements asks the index of vectors of three numbers."""
    return any("halfvec(3)" in one for one in run)


@pytest.mark.parametrize(
    ("of_story", "of_all", "is_it"),
    [
        (9_999, 9_999, False),
        (10_000, 10_000, True),
        (14_000, 20_000, False),
        (15_000, 20_000, True),
        (31_000, 100_000, False),
        (32_000, 100_000, True),
        (10_000, 1, True),
        (9_999, 1, False),
    ],
)
def test_the_index_is_faster_where_a_story_is_large_and_not_too_small_a_part(
    of_story: int, of_all: int, is_it: bool
) -> None:
    assert is_faster(of_story, of_all) is is_it


@pytest.mark.usefixtures("early")
async def test_many_vectors_get_an_index_that_finds_what_a_look_at_each_of_them_finds(
    store: PostgresStore, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, made = await with_items(store, range(1, 121))
    query = asked(session, Audience.of((Slot.RED,)).mask)
    await store.bank.put_vectors("m", made[:10])
    assert raw.execute(INDEX).fetchone() == (None,), "few vectors need none"
    exact = await _found_without_index(store, query, made, monkeypatch)
    await stored(store, made)
    assert raw.execute(INDEX).fetchone() == ("ix_bank_vector_3",)
    with statements() as run:
        found = await store.bank.recall(query)
    assert ask_index(run)
    assert not await index_of(store)._indexed(2), "vectors of another length have none"
    assert [one.item.id for one in found] == exact
    assert {one.item.label for one in found} == {EVERYONE}
    fitting = await store.bank.recall(replace(query, spans=(signs_of((1.0, -1.0, 1.0)),)))
    assert [one.item.id for one in fitting] != exact
    assert {one.item.id for one in fitting} == {*exact}, "what fits the parts of the query comes first"


async def _found_without_index(
    store: PostgresStore, query: Query, made: list[ItemVector], monkeypatch: pytest.MonkeyPatch
) -> list[ItemId]:
    """Return what is found while no index is made."""
    with monkeypatch.context() as patched:
        patched.setattr("db.bank.vector_index.INDEXED_FROM", 1_000)
        await stored(store, made)
        found = await store.bank.recall(query)
    assert len(found) == query.limit
    return [one.item.id for one in found]


@pytest.mark.usefixtures("early")
async def test_a_story_that_is_a_small_part_of_all_is_looked_at_without_the_index(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    small, made = await with_items(store, range(1, 61))
    _, some = await with_items(store, range(1_001, 1_021))
    await stored(store, made + some)
    query = asked(small)
    with statements() as run:
        found = await store.bank.recall(query)
    assert ask_index(run), "it is most of all"
    assert {one.item.session_id for one in found} == {small.id}
    _, others = await with_items(store, range(2_001, 2_121))
    await store.bank.put_vectors("m", others)
    raw.execute("ANALYZE bank_vector")
    await stored(store, some)
    with statements() as run:
        assert await store.bank.recall(query) == found
    assert not ask_index(run)


@pytest.mark.usefixtures("early")
async def test_a_table_that_was_empty_when_the_server_counted_it_has_its_index_asked(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    session, made = await with_items(store, range(1, 61))
    await stored(store, made)
    raw.execute("DELETE FROM bank_vector")
    raw.execute("VACUUM bank_vector")
    await stored(store, made)
    with statements() as run:
        assert len(await store.bank.recall(asked(session))) == 30
    assert ask_index(run)


async def test_each_story_has_a_number_of_its_own_that_is_read_again_after_a_while(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, of_one = await with_items(store, range(1, 11))
    other, of_other = await with_items(store, range(101, 107))
    index = index_of(store)

    async def numbers() -> tuple[int, int]:
        return await index._of_story(asked(one)), await index._of_story(asked(other))

    await store.bank.put_vectors("m", of_one[:4])
    assert await numbers() == (4, 0)
    await store.bank.put_vectors("m", of_one[4:8])
    assert await numbers() == (4, 0), "they are remembered"
    monkeypatch.setattr("db.bank.vector_index._REMEMBERED_SECONDS", 0.0)
    index._numbers.clear()
    assert await numbers() == (8, 0)
    third, of_third = await with_items(store, range(201, 204))
    await store.bank.put_vectors("m", of_one[8:] + of_other + of_third)
    assert await numbers() == (10, 6)
    monkeypatch.setattr("db.bank.vector_index._MOST_REMEMBERED", 2)
    assert await index._of_story(asked(third)) == 3
    assert len(index._numbers) == 2


@pytest.mark.usefixtures("early")
async def test_a_table_of_vectors_that_is_gone_is_an_error_of_the_database(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    session, made = await with_items(store, range(1, 61))
    await stored(store, made)
    await store.bank.recall(asked(session))
    index_of(store)._numbers.clear()
    raw.execute("ALTER TABLE bank_vector RENAME TO gone")
    with pytest.raises(StorageError):
        await store.bank.recall(asked(session))
