"""What the database refuses of the memory bank: raw SQL, past all of our code."""

import asyncio

import psycopg
import pytest
from psycopg import errors

from core.domain.bank.item import ItemAccess
from core.domain.ids import SessionId
from core.storage.changes import Changes
from db.store import open_store
from tests.core.values.bank import fact
from tests.store import chapters


@pytest.fixture(scope="module")
def chapter(url: str) -> SessionId:
    """A chapter with two items, and a recall of one of them."""

    async def create() -> SessionId:
        store = await open_store(url)
        session, lease = await chapters.locked_session(store, keeps_bank=True)
        await chapters.play(store, session, lease, 3)
        items = (fact(1, session_id=session.id), fact(2, session_id=session.id))
        recall = ItemAccess(item_id=items[0].id, access_count=1, last_accessed=3)
        await store.commit(Changes(session_id=session.id, items=items, accesses=(recall,)), lease)
        await lease.aclose()
        await store.aclose()
        return session.id

    return asyncio.run(create())


@pytest.mark.parametrize(
    "change",
    [
        "name = ' '",
        "name = repeat('x', 201)",
        "text = ''",
        "text = repeat('x', 2001)",
        "details = '[]'",
        "about = 0",
        "about = 8",
        "importance = 1.5",
        "importance = 'NaN'",
        "confidence = -0.5",
        "decay_rate = 2",
        "sentiment = -1.5",
        "validation = 'true'",
        "evidence = '{}'",
        "evidence = '[]'",
        "evidence = '[1, 2, 3, 4, 5, 6, 7, 8, 9]'",
        "merged_into = item_id",
        "expires_at = -1",
        "updated_at = '9999-06-01Z'",
    ],
)
def test_an_item_has_bounds(raw: psycopg.Connection, chapter: SessionId, change: str) -> None:
    statement = f"UPDATE bank_item SET version = version + 1, {change} WHERE session_id = %s"
    with pytest.raises(errors.CheckViolation):
        raw.execute(statement.encode(), (chapter,))


@pytest.mark.parametrize(
    "change",
    [
        "version = version + 2",
        "version = version",
        "kind = 'quote', version = version + 1",
        "label = 1, version = version + 1",
        "origin = 'gm', version = version + 1",
        "prompt_index = 2, version = version + 1",
        "take = NULL, version = version + 1",
        "supersedes = gen_random_uuid(), version = version + 1",
        "created_at = now(), version = version + 1",
    ],
)
def test_an_item_keeps_its_label_and_its_source_and_each_change_is_the_next_version(
    raw: psycopg.Connection, chapter: SessionId, change: str
) -> None:
    with pytest.raises(psycopg.Error, match="keeps its label and its source"):
        raw.execute(f"UPDATE bank_item SET {change}".encode())


def test_the_version_of_an_item_is_kept(raw: psycopg.Connection, chapter: SessionId) -> None:
    with pytest.raises(errors.ForeignKeyViolation):
        raw.execute("UPDATE bank_item SET version = version + 1, text = 'Else.'")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bank_revision SET content = '{}'",
        "DELETE FROM bank_revision",
        "DELETE FROM bank_item",
        "TRUNCATE bank_item",
        "TRUNCATE bank_revision CASCADE",
        "TRUNCATE bank_access",
    ],
)
def test_nothing_of_a_bank_is_deleted_or_its_history_changed(
    raw: psycopg.Connection, chapter: SessionId, statement: str
) -> None:
    with pytest.raises(psycopg.Error), raw.transaction():
        raw.execute(statement.encode())
    assert raw.execute("SELECT count(*) FROM bank_revision").fetchone() == (2,)


@pytest.mark.parametrize("change", ["access_count = 0", "last_accessed = 0"])
def test_a_recall_is_counted_from_one(raw: psycopg.Connection, chapter: SessionId, change: str) -> None:
    with pytest.raises(errors.CheckViolation):
        raw.execute(f"UPDATE bank_access SET {change}".encode())


def test_what_a_model_says_is_stored_with_its_proof_alone(
    raw: psycopg.Connection, chapter: SessionId
) -> None:
    for change in ('"evidence": []', '"take": null'):
        values = f'{{"item_id": "{fact(9).id}", {change}}}'
        row = f"SELECT (jsonb_populate_record(bank_item, '{values}')).* FROM bank_item LIMIT 1"
        with pytest.raises(errors.CheckViolation), raw.transaction():
            raw.execute(f"INSERT INTO bank_item {row}".encode())
