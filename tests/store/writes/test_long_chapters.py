"""A chapter of thousands of prompts is stored and deleted, however slow the machine is."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest

from core.domain.ids import BookId, new_uuid
from core.domain.requests.request import Content
from core.domain.session.session import Session
from core.library.book import Book
from core.storage.changes import Changes
from core.storage.session_store import WriterInfo
from db.store import PostgresStore
from tests.store import chapters
from tests.store.chapters import until

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOTES = (
    "CREATE TABLE noted (what text, time_out text)",
    """
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted VALUES (TG_OP, current_setting('statement_timeout')); RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER note AFTER INSERT OR DELETE ON session FOR EACH ROW EXECUTE FUNCTION note()",
)
WAITS = (
    "SELECT pg_advisory_lock(7)",
    """
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER wait AFTER INSERT ON session FOR EACH ROW EXECUTE FUNCTION wait()",
)


@pytest.fixture
def noted(raw: psycopg.Connection) -> psycopg.Connection:
    """A database that notes with which time-out a chapter is stored or deleted."""
    for statement in NOTES:
        raw.execute(statement.encode())
    raw.commit()
    return raw


def long_chapter() -> tuple[Session, Changes]:
    session = chapters.new_session()
    contents = tuple(Content.of(f"text {number}") for number in range(1_500))
    return session, replace(chapters.creation(session), contents=contents)


def timeouts(raw: psycopg.Connection) -> list[tuple[str, str]]:
    raw.rollback()  # what was stored since is seen
    return raw.execute("SELECT what, time_out FROM noted").fetchall()


async def test_a_long_chapter_has_ten_minutes_to_be_stored_and_a_new_one_the_usual_time(
    store: PostgresStore, noted: psycopg.Connection
) -> None:
    await store.chapters.create(chapters.creation(chapters.new_session()))
    session, changes = long_chapter()
    await store.chapters.create(changes)
    assert timeouts(noted) == [("INSERT", "20s"), ("INSERT", "10min")]
    assert len(await store.calls.contents_after(session.id, "", most=2_000)) == 1_500
    await store.chapters.create(chapters.creation(chapters.new_session()))
    assert timeouts(noted)[-1] == ("INSERT", "20s"), "it was for that one alone"


async def test_a_reply_is_stored_while_a_long_chapter_is_imported_beside_it(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    playing = chapters.new_session()
    await store.chapters.create(chapters.creation(playing))
    lease = await store.acquire(playing.id, "here")
    assert not isinstance(lease, WriterInfo)
    session, changes = long_chapter()
    for statement in WAITS:
        raw.execute(statement.encode())
    importing = asyncio.create_task(store.chapters.create(changes))

    async def is_waiting() -> bool:
        waiting = (
            "SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
        )
        return bool(raw.execute(waiting.encode()).fetchall())

    await until(is_waiting)
    async with asyncio.timeout(60):
        await store.commit(Changes(session_id=playing.id, session=replace(playing, title="Ash")), lease)
        assert not importing.done()
        raw.execute("SELECT pg_advisory_unlock(7)")
        await importing
    assert {line.id for line in await store.chapters.listed()} == {playing.id, session.id}
    await lease.aclose()


async def test_a_long_chapter_of_a_book_has_ten_minutes_to_be_stored(
    store: PostgresStore, noted: psycopg.Connection
) -> None:
    session, changes = long_chapter()
    book = Book(
        id=BookId(new_uuid()),
        title="Ash",
        chapters=(session.id,),
        created_at=NOON,
        updated_at=NOON,
    )
    await store.library.put_book(book, new_chapter=changes)
    assert timeouts(noted) == [("INSERT", "10min")]


async def test_a_chapter_has_ten_minutes_to_be_deleted(
    store: PostgresStore, noted: psycopg.Connection
) -> None:
    session = chapters.new_session()
    await store.chapters.create(chapters.creation(session))
    await store.chapters.archive(session.id, NOON)
    await store.chapters.purge(session.id)
    assert timeouts(noted)[-1] == ("DELETE", "10min")
