"""Times have bounds, and a row that cannot be read hides neither the others nor the way to put it away."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import psycopg
import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from core.domain.errors import StorageError
from core.domain.ids import SessionId, new_uuid
from core.domain.session.session import Session
from core.storage.session_store import Lease
from db.rows.chapter_mapping import prompt_blocks_values
from db.store import PostgresStore, open_store
from tests.store import chapters
from tests.store.schema.older_schema import make_old
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio

TIMES = [
    ("session", "created_at"),
    ("session", "updated_at"),
    ("session", "archived_at"),
    ("session", "writer_since"),
    ("llm_request", "created_at"),
    ("llm_request", "updated_at"),
    ("llm_request", "retry_after"),
]
BEYOND = ["infinity", "-infinity", "10000-01-01 13:59:59Z", "0001-01-01Z BC", "1899-12-31Z"]
FAR = "10000-01-01 13:59:59Z"


async def test_no_time_is_stored_that_could_not_be_shown(
    raw: psycopg.Connection, store: PostgresStore, locked: tuple[Session, Lease]
) -> None:
    await chapters.play(store, *locked, 1)
    for (table, column), time in product(TIMES, BEYOND):
        raw.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")  # They refuse any other time first.
        with pytest.raises(errors.CheckViolation):
            raw.execute(f"UPDATE {table} SET {column} = %s", [time])


async def _store_with_an_unreadable_chapter(
    url: str, raw: psycopg.Connection, column: str, value: str
) -> tuple[PostgresStore, SessionId, SessionId]:
    """Store a chapter that can be read and one that cannot, as a database without the check has it."""
    store = await open_store(url)
    good, bad = chapters.new_session(title="Good"), chapters.new_session(title="Bad")
    for session in (good, bad):
        await store.chapters.create(chapters.creation(session))
    raw.execute("ALTER TABLE session DROP CONSTRAINT ck_session_times, DROP CONSTRAINT ck_session_state")
    raw.execute("ALTER TABLE session DISABLE TRIGGER USER")
    raw.execute(f"UPDATE session SET {column} = %s WHERE id = %s", [value, bad.id])
    raw.execute("ALTER TABLE session ENABLE TRIGGER USER")
    return store, good.id, bad.id


@pytest.mark.parametrize(
    ("column", "value"),
    [("updated_at", FAR), ("created_at", "-infinity"), ("created_at", "infinity"), ("state", "DREAMING")],
)
async def test_a_chapter_that_cannot_be_read_is_listed_by_its_id_and_can_be_archived_and_purged(
    url: str, raw: psycopg.Connection, column: str, value: str
) -> None:
    store, good, bad = await _store_with_an_unreadable_chapter(url, raw, column, value)
    listed = await store.chapters.listed()
    assert [(line.id, line.is_readable) for line in listed] == [(good, True), (bad, False)]
    assert [line.title for line in listed] == ["Good", f"Cannot be read: {bad}"], (
        "nothing stored is shown of it"
    )
    with pytest.raises(StorageError, match=f"chapter {bad} cannot be read") as caught:
        await store.load(bad)
    assert f"storyengine archive {bad}" in caught.value.hint
    lease = await chapters.taken(store, bad)
    await store.chapters.archive(bad, chapters.NOW)
    await lease.aclose()
    assert [line.id for line in await store.chapters.listed()] == [good]
    assert [line.is_readable for line in await store.chapters.listed(is_archived=True)] == [False]
    await store.chapters.purge(bad)
    assert await store.chapters.listed(is_archived=True) == []
    await store.aclose()


async def test_an_unreadable_part_of_a_chapter_is_told_with_the_chapter_it_is_in(
    url: str, raw: psycopg.Connection
) -> None:
    store = await open_store(url)
    session, lease = await chapters.locked_session(store)
    await chapters.play(store, session, lease, 1)
    raw.execute("ALTER TABLE llm_request DROP CONSTRAINT ck_llm_request_times")
    raw.execute("UPDATE llm_request SET retry_after = %s", [FAR])
    with pytest.raises(StorageError, match=f"chapter {session.id} cannot be read"):
        await store.calls.requests(session.id)
    assert len(await store.log(session.id)) == 2
    await store.aclose()


BLOCK = prompt_blocks_values(SessionId(new_uuid()), chapters.PROMPT_BLOCKS)["blocks"][0]


async def test_a_chapter_whose_prompt_blocks_are_damaged_is_told_and_the_list_stays_readable(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    good, bad = chapters.new_session(title="Good"), chapters.new_session(title="Bad")
    for session in (good, bad):
        await store.chapters.create(replace(chapters.creation(session), prompt_blocks=chapters.PROMPT_BLOCKS))
    raw.execute("ALTER TABLE prompt_blocks DROP CONSTRAINT ck_prompt_blocks_blocks")
    for block in (
        {**BLOCK, "place": "footnote"},
        {**BLOCK, "roles": ["oracle"]},
        {**BLOCK, "slots": [9]},
        {**BLOCK, "slots": 1},
        {**BLOCK, "variants": "noir"},
        {"id": 1, "text": "Rain."},
        "Rain.",
        None,
    ):
        raw.execute("UPDATE prompt_blocks SET blocks = %s WHERE session_id = %s", [Jsonb([block]), bad.id])
        listed = {(line.title, line.is_readable) for line in await store.chapters.listed()}
        assert listed == {("Good", True), ("Bad", True)}
        assert (await store.load(good.id)).prompt_blocks == chapters.PROMPT_BLOCKS
        with pytest.raises(StorageError) as caught:
            await store.load(bad.id)
        assert re.fullmatch(f"The chapter {bad.id} cannot be read: [^.]*\\.", caught.value.message), block
        assert f"storyengine archive {bad.id}" in caught.value.hint


async def test_times_beyond_the_bounds_in_an_older_database_are_set_to_the_bounds(empty_url: str) -> None:
    await make_old(empty_url, "story_0003")
    with psycopg.connect(plain_url(empty_url)) as raw:
        raw.execute("ALTER TABLE event DISABLE TRIGGER append_only")
        raw.execute("UPDATE session SET updated_at = %s, created_at = '-infinity'", [FAR])
        raw.execute("UPDATE event SET created_at = 'infinity' WHERE ordinal = 1")
        raw.execute("ALTER TABLE event ENABLE TRIGGER append_only")
    store = await open_store(empty_url)
    [line] = await store.chapters.listed()
    assert line.is_readable
    assert line.updated_at == datetime(9999, 1, 1, tzinfo=UTC)
    assert (await store.load(line.id)).session.created_at == datetime(1900, 1, 1, tzinfo=UTC)
    assert [event.created_at.year for event in await store.log(line.id)][1] == 9999
    await store.aclose()
    with psycopg.connect(plain_url(empty_url)) as raw, pytest.raises(psycopg.Error, match="append-only"):
        raw.execute("UPDATE event SET text = 'other'")
