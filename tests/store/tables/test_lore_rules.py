"""What the database refuses of the lorebooks of a chapter: raw SQL, past all of our code."""

import asyncio
from dataclasses import replace

import psycopg
import pytest
from psycopg import errors

from core.domain.ids import SessionId
from db.store import PostgresStore, open_store
from tests.store import chapters
from tests.store.contract.test_lore_contract import GUILD, HARBOUR, TEXTS


@pytest.fixture(scope="module")
def chapter(url: str) -> SessionId:
    """A chapter with two lorebooks."""

    async def create() -> SessionId:
        store = await open_store(url)
        session_id = await with_lorebooks(store)
        await store.aclose()
        return session_id

    return asyncio.run(create())


async def with_lorebooks(store: PostgresStore) -> SessionId:
    """Store a chapter with two lorebooks."""
    session = chapters.new_session()
    await store.chapters.create(replace(chapters.creation(session), lore=(HARBOUR, GUILD), contents=TEXTS))
    return session.id


@pytest.mark.parametrize(
    "change",
    [
        "number = 0",
        "number = 21",
        "name = ' '",
        "groups = array_fill('x'::text, ARRAY[21])",
        "owner = 0",
        "owner = 8",
        "label = 128",
        "label = -1",
        "entry_count = -1",
        "entry_count = 100001",
        "copy_length = 0",
        "copy_length = 16777217",
        "file_hash = 'x'",
        "copy_hash = 'x'",
        "seed = ''",
        "seed = 'a-b'",
        "seed = repeat('a', 65)",
    ],
)
def test_a_lorebook_of_a_chapter_has_bounds(raw: psycopg.Connection, chapter: SessionId, change: str) -> None:
    statement = f"UPDATE session_lorebook SET {change} WHERE session_id = %s AND name = 'Harbour'"
    with pytest.raises(errors.CheckViolation):
        raw.execute(statement.encode(), (chapter,))


def test_a_lorebook_has_a_copy_in_its_own_chapter(raw: psycopg.Connection, chapter: SessionId) -> None:
    with pytest.raises(errors.ForeignKeyViolation), raw.transaction():
        raw.execute("UPDATE session_lorebook SET copy_hash = repeat('c', 64)")
    assert raw.execute("SELECT count(*) FROM session_lorebook").fetchone() == (2,)


@pytest.mark.anyio
async def test_lorebooks_go_with_their_chapter(store: PostgresStore, raw: psycopg.Connection) -> None:
    gone = await with_lorebooks(store)
    count = "SELECT count(*) FROM session_lorebook WHERE session_id = %s"
    assert raw.execute(count, (gone,)).fetchone() == (2,)
    await store.chapters.archive(gone, chapters.NOW)
    await store.chapters.purge(gone)
    assert raw.execute(count, (gone,)).fetchone() == (0,)
