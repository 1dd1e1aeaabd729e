"""The catalogue: ready to be sharded, nothing that other servers lack, models and history equal."""

import asyncio
import re
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, text

from core.errors import StorageError
from db.connect import open_engine, parse_url
from db.migrate import HEAD, known_revisions, upgrade
from db.store import PostgresStore, open_store
from db.tables import METADATA
from tests.store import chapters
from tests.store.servers import plain_url

ROOT = Path(__file__).parents[2]
KEYS = """
SELECT c.relname, n.conname, n.contype,
       array(SELECT a.attname FROM unnest(n.conkey) WITH ORDINALITY AS k(number, place)
             JOIN pg_attribute a ON a.attrelid = n.conrelid AND a.attnum = k.number ORDER BY place)
FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid
WHERE n.contype IN ('p', 'u', 'f') AND n.connamespace = 'public'::regnamespace
  AND c.relname NOT IN ('session', 'alembic_version')
"""
SHAPE = """
SELECT 'column ' || c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod)
       || ' ' || a.attnotnull::text || ' ' || a.attgenerated::text
       || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.relkind = 'r' AND a.attnum > 0 AND c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
UNION ALL
SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
"""


def test_every_key_below_the_session_begins_with_it(raw: psycopg.Connection) -> None:
    keys = raw.execute(KEYS).fetchall()
    assert {table for table, *_ in keys} == {table for table in METADATA.tables if table != "session"}
    assert [key for key in keys if key[3][0] != "session_id"] == []
    with_primary = {table for table, _, kind, _ in keys if kind == "p"}
    assert with_primary == {table for table in METADATA.tables if table != "session"}


def test_every_unique_index_is_a_constraint(raw: psycopg.Connection) -> None:
    """So that the test above sees all of them."""
    rogue = raw.execute(
        "SELECT indexrelid::regclass FROM pg_index WHERE indisunique AND indexrelid NOT IN"
        " (SELECT conindid FROM pg_constraint) AND indrelid::regclass::text = ANY(%s)",
        (list(METADATA.tables),),
    )
    assert rogue.fetchall() == []


def test_nothing_that_other_servers_lack(raw: psycopg.Connection) -> None:
    sequences = raw.execute("SELECT relname FROM pg_class WHERE relkind = 'S'").fetchall()
    extensions = raw.execute("SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'").fetchall()
    defaults = raw.execute(
        "SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef"
        " WHERE pg_get_expr(adbin, adrelid) ~* 'uuid|nextval|random|now'"
    ).fetchall()
    assert (sequences, extensions, defaults) == ([], [], [])


def test_the_head_in_the_code_is_the_newest_migration() -> None:
    assert known_revisions()[-1] == HEAD


def test_models_and_migrations_say_the_same(url: str, empty_url: str) -> None:
    """Columns, generated ones too, constraints and indexes, to the letter of the server's own rendering."""
    asyncio.run(_create_all(empty_url))
    migrated, modelled = _shape(url), _shape(empty_url)
    assert migrated == modelled


def _shape(url: str) -> dict[str, str]:
    with psycopg.connect(plain_url(url)) as connection:
        rows = connection.execute(SHAPE).fetchall()
    return {name: definition for name, definition in rows if "alembic_version" not in name}


async def _create_all(url: str) -> None:
    engine = open_engine(parse_url(url))
    async with engine.begin() as connection:
        await connection.run_sync(METADATA.create_all)
    await engine.dispose()


def test_alembic_sees_no_drift(url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def compare(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), METADATA)

    async def run() -> object:
        engine = open_engine(parse_url(url))
        async with engine.connect() as connection:
            found = await connection.run_sync(compare)
        await engine.dispose()
        return found

    assert asyncio.run(run()) == []


@pytest.mark.anyio
async def test_an_empty_database_is_brought_up_once_by_many(empty_url: str) -> None:
    stores = await asyncio.gather(*(open_store(empty_url) for _ in range(4)))
    session, _ = await chapters.locked_session(stores[0])
    assert [line.id for line in await stores[3].sessions()] == [session.id]
    for store in stores:
        await store.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("start", known_revisions())
async def test_every_older_database_is_brought_up_with_its_chapters(
    url: str, empty_url: str, start: str
) -> None:
    """From each revision on. Nothing that a chapter is played with has changed since the first."""
    engine = open_engine(parse_url(empty_url))
    async with engine.begin() as connection:
        await connection.run_sync(_bring_to, start)
    store = PostgresStore(parse_url(empty_url), engine)
    session = await chapters.play(store, *await chapters.locked_session(store), 2)
    before = await store.load(session.id)
    await upgrade(engine)
    assert await store.load(session.id) == before
    async with engine.connect() as connection:
        version = await connection.execute(text("SELECT version_num FROM alembic_version"))
        assert version.scalar_one() == HEAD
    await store.aclose()
    assert _shape(empty_url) == _shape(url)


def _bring_to(connection: Connection, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE alembic_version SET version_num = 'story_9999'", "newer Story Engine"),
        ("UPDATE alembic_version SET version_num = 'a1b2c3'", "another program"),
        ("DROP TABLE alembic_version", "another program"),
    ],
)
async def test_a_database_that_is_not_ours_to_change_is_refused(
    url: str, raw: psycopg.Connection, statement: str, sentence: str
) -> None:
    raw.execute(statement)
    before = _shape(url)
    with pytest.raises(StorageError, match=re.escape(sentence)) as caught:
        await open_store(url)
    assert not caught.value.is_transient
    assert _shape(url) == before
