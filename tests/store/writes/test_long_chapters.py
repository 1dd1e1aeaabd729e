"""A chapter of thousands of prompts is stored and deleted, however slow the machine is."""

from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest

from core.domain.ids import BookId, new_uuid
from core.domain.requests.request import Content
from core.domain.session.session import Session
from core.library.book import Book
from core.storage.changes import Changes
from db.store import PostgresStore
from tests.store import chapters

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
    await store.create(chapters.creation(chapters.new_session()))
    session, changes = long_chapter()
    await store.create(changes)
    assert timeouts(noted) == [("INSERT", "20s"), ("INSERT", "10min")]
    assert len(await store.contents_after(session.id, "", most=2_000)) == 1_500
    await store.create(chapters.creation(chapters.new_session()))
    assert timeouts(noted)[-1] == ("INSERT", "20s"), "it was for that one alone"


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
    await store.create(chapters.creation(session))
    await store.archive(session.id, NOON)
    await store.purge(session.id)
    assert timeouts(noted)[-1] == ("DELETE", "10min")
