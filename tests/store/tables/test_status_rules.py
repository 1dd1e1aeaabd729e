"""What the database refuses of the statuses of events: raw SQL, past all of our code."""

import asyncio

import psycopg
import pytest
from psycopg import errors

from core.domain.ids import SessionId
from core.domain.story.context_status import ContextStatus, EventStatus
from core.storage.changes import Changes
from db.store import PostgresStore, open_store
from tests.store import chapters


@pytest.fixture(scope="module")
def chapter(url: str) -> SessionId:
    """A chapter with two prompts, of which one line has a status."""

    async def create() -> SessionId:
        store = await open_store(url)
        session_id = await with_status(store)
        await store.aclose()
        return session_id

    return asyncio.run(create())


async def with_status(store: PostgresStore) -> SessionId:
    """Store a chapter with two prompts, of which one line has a status."""
    session, lease = await chapters.locked_session(store)
    await chapters.play(store, session, lease, 2)
    said = (EventStatus(1, 1, 1, ContextStatus.NEVER),)
    await store.commit(Changes(session_id=session.id, statuses=said), lease)
    await lease.aclose()
    return session.id


def test_a_status_is_one_of_three_words(raw: psycopg.Connection, chapter: SessionId) -> None:
    with pytest.raises(errors.CheckViolation):
        raw.execute("UPDATE event_status SET status = 'sometimes' WHERE session_id = %s", (chapter,))


@pytest.mark.parametrize("column", ["prompt_index", "take", "ordinal"])
def test_a_status_belongs_to_an_event_of_the_log(
    raw: psycopg.Connection, chapter: SessionId, column: str
) -> None:
    with pytest.raises(errors.ForeignKeyViolation):
        raw.execute(f"UPDATE event_status SET {column} = 9 WHERE session_id = %s", (chapter,))


def test_an_event_has_one_status(raw: psycopg.Connection, chapter: SessionId) -> None:
    with pytest.raises(errors.UniqueViolation):
        raw.execute("INSERT INTO event_status SELECT * FROM event_status WHERE session_id = %s", (chapter,))


@pytest.mark.anyio
async def test_a_purge_takes_it_along(raw: psycopg.Connection, store: PostgresStore) -> None:
    gone = await with_status(store)
    count = "SELECT count(*) FROM event_status WHERE session_id = %s"
    assert raw.execute(count, (gone,)).fetchone() == (1,)
    await store.chapters.archive(gone, chapters.NOW)
    await store.chapters.purge(gone)
    assert raw.execute(count, (gone,)).fetchone() == (0,)
