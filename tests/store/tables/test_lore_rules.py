"""What the database refuses of the lorebooks of a chapter: raw SQL, past all of our code."""

import asyncio
from dataclasses import replace

import psycopg
import pytest
from psycopg import errors

from core.domain.ids import SessionId
from db.store import open_store
from tests.store import chapters
from tests.store.contract.test_lore_contract import GUILD, HARBOUR, TEXTS


@pytest.fixture
def chapter(url: str) -> SessionId:
    """A chapter with two lorebooks."""
    session = chapters.new_session()

    async def create() -> None:
        store = await open_store(url)
        await store.create(replace(chapters.creation(session), lore=(HARBOUR, GUILD), contents=TEXTS))
        await store.aclose()

    asyncio.run(create())
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
    with pytest.raises(errors.ForeignKeyViolation):
        raw.execute("UPDATE session_lorebook SET copy_hash = repeat('c', 64)")
    assert raw.execute("SELECT count(*) FROM session_lorebook").fetchone() == (2,)


def test_lorebooks_go_with_their_chapter(url: str, raw: psycopg.Connection, chapter: SessionId) -> None:
    async def purge() -> None:
        store = await open_store(url)
        await store.archive(chapter, chapters.NOW)
        await store.purge(chapter)
        await store.aclose()

    asyncio.run(purge())
    assert raw.execute("SELECT count(*) FROM session_lorebook").fetchone() == (0,)
