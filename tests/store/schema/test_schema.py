"""The catalogue: ready to be sharded, nothing that other servers lack, models and history equal."""

import asyncio
import re

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Connection

from core.domain.errors import StorageError
from db.connections import open_engine, parse_url
from db.schema.migrate import HEAD, known_revisions
from db.store import open_store
from db.tables import METADATA
from tests.store import chapters
from tests.store.schema.older_schema import make_old
from tests.store.servers import plain_url

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
WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype NOT IN ('n', 't')
UNION ALL
SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
"""
SLOW_CHECKS = """
SELECT conname FROM pg_constraint f WHERE contype = 'f' AND connamespace = 'public'::regnamespace
  AND NOT EXISTS (
      SELECT FROM pg_index WHERE indrelid = f.conrelid
      AND (string_to_array(indkey::text, ' ')::int2[])[1:cardinality(f.conkey)] @> f.conkey
  )
"""


LIBRARY = {
    *("cast_member", "cast_name", "cast_trait", "cast_topic", "cast_card", "cast_proposal"),
    *("lorebook", "book"),
}
"""They are below no session; a server that shards keeps them whole on each machine."""
NOT_BELOW = ("session", "queue_state", "lane_minute")
"""The other tables that hold no part of a session."""
Tables = dict[str, list[dict[str, object]]]
"""The rows of tables, by the tables' names."""


def test_every_key_below_the_session_begins_with_it(raw: psycopg.Connection) -> None:
    keys = [key for key in raw.execute(KEYS).fetchall() if key[0] not in NOT_BELOW]
    assert {table for table, *_ in keys} == {table for table in METADATA.tables if table not in NOT_BELOW}
    assert {(table, name) for table, name, _, columns in keys if columns[0] != "session_id"} == {
        *((table, name) for table, name, *_ in keys if table in LIBRARY),
        ("book_chapter", "fk_book_chapter_book"),
    }
    with_primary = {table for table, _, kind, _ in keys if kind == "p"}
    assert with_primary == {table for table in METADATA.tables if table not in NOT_BELOW}


def test_every_unique_index_is_a_constraint(raw: psycopg.Connection) -> None:
    """So that the test above sees all of them."""
    rogue = raw.execute(
        "SELECT indexrelid::regclass FROM pg_index WHERE indisunique AND indexrelid NOT IN"
        " (SELECT conindid FROM pg_constraint) AND indrelid::regclass::text = ANY(%s)",
        (list(METADATA.tables),),
    )
    assert rogue.fetchall() == []


def test_what_a_purge_checks_for_each_row_has_an_index(raw: psycopg.Connection) -> None:
    """Memory and drafts are few; a session is one row; pointers are found by the beginning of their keys."""
    slow = raw.execute(SLOW_CHECKS).fetchall()
    assert {name for (name,) in slow} == {
        "fk_canon_event",
        "fk_memory_canon_block",
        "fk_memory_canon_no_hole",
        "fk_narrative_draft_request",
        "fk_session_boundary",
        "fk_session_last_prompt",
    }


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
    assert [line.id for line in await stores[3].chapters.listed()] == [session.id]
    for store in stores:
        await store.aclose()


@pytest.mark.anyio
async def test_every_older_database_is_brought_up_with_its_chapters(url: str, empty_url: str) -> None:
    """Each revision adds a chapter of its own to one database; what a row had before, it has after."""
    made: dict[object, tuple[str, Tables]] = {}
    for revision in known_revisions()[:-1]:
        await make_old(empty_url, revision)
        tables = _rows(empty_url)
        [new] = {row["id"] for row in tables["session"]} - made.keys()
        made[new] = revision, _of_session(tables, new)
    await (await open_store(empty_url)).aclose()
    everything = _rows(empty_url)
    pointers = {"canon", "memory_canon"}
    for session_id, (revision, before) in made.items():
        after = _of_session(everything, session_id)
        assert {table: len(rows) for table, rows in before.items() if rows and table not in pointers} == {
            "session": 1,
            "tab1_input": 1,
            "event": 2,
            "memory_block": 1,
        }
        for table, rows in before.items():
            own = METADATA.tables[table].c.keys()
            kept = (
                [{name: row[name] for name in own if name in rows[0]} for row in after[table]] if rows else []
            )
            was = [{name: value for name, value in row.items() if name in own} for row in rows]
            assert kept == was, revision
        [session] = after["session"]
        canon = [(row["prompt_index"], row["take"]) for row in after["canon"]]
        assert (session["prompt_index"], canon) == (1, [(1, 1)]), revision
        assert [row["block_id"] for row in after["memory_canon"]] == [
            row["block_id"] for row in after["memory_block"]
        ], revision
    assert _shape(empty_url) == _shape(url)


def _of_session(tables: Tables, session_id: object) -> Tables:
    """Return the rows of a session."""
    key = "session_id"
    return {
        table: [row for row in rows if row["id" if table == "session" else key] == session_id]
        for table, rows in tables.items()
        if table == "session" or key in METADATA.tables[table].c
    }


def _rows(url: str) -> Tables:
    with psycopg.connect(plain_url(url), row_factory=dict_row) as raw:
        there = raw.execute("SELECT relname FROM pg_class WHERE relkind = 'r'").fetchall()
        tables = METADATA.tables.keys() & {row["relname"] for row in there}
        return {name: raw.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in tables}


@pytest.mark.anyio
async def test_sessions_of_one_script_that_were_made_at_once_before_are_all_kept(
    empty_url: str,
) -> None:
    """The runs are numbered in the order of creation, and the newest open one is played on, as before."""
    await make_old(empty_url, "story_0002")
    with psycopg.connect(plain_url(empty_url)) as raw:
        same = [chapters.new_session().id for _ in range(4)]
        for session_id in same:
            raw.execute(_COPY, {"new": session_id})
        raw.execute("UPDATE session SET archived_at = now() WHERE id = %s", [same[-1]])
    store = await open_store(empty_url)
    assert {line.id for line in await store.chapters.listed() if line.title == "Again"} == set(same[:3])
    assert await store.chapters.find_script("ember") == same[2]
    await store.aclose()
    with psycopg.connect(plain_url(empty_url)) as raw:
        runs = raw.execute("SELECT id, script_run FROM session ORDER BY script_run").fetchall()
    assert [(session_id, run) for session_id, run in runs if run] == [
        (session_id, run) for run, session_id in enumerate(same, 1)
    ]


_COPY = """
WITH made AS (
    INSERT INTO session (id, title, script_key, state, is_ending, prompt_index, boundary, slots, names,
        tab1_locked, next_slot, definition, chunk_size, limits, created_at, updated_at)
    VALUES (%(new)s, 'Again', 'ember', 'DRAFT_TAB1', false, 0, 0, '{1}', '{}', false, 1, '', 7, '{}',
        now(), now())
)
INSERT INTO tab1_input (session_id, world, chapter, identities) VALUES (%(new)s, 'Ash', '', '{}')
"""


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


@pytest.mark.anyio
async def test_calls_that_were_stored_before_costs_were_are_of_unknown_cost(empty_url: str) -> None:
    await make_old(empty_url, "story_0013")
    with psycopg.connect(plain_url(empty_url)) as raw:
        raw.execute(_CALL)
    store = await open_store(empty_url)
    [session] = await store.chapters.listed()
    [artifact] = await store.calls.artifacts(session.id)
    assert (artifact.cost, artifact.usage.input_tokens) == (None, 10)
    assert await store.calls.spent(session.id) == (await store.load(session.id)).spent == 0
    await store.aclose()


@pytest.mark.anyio
async def test_every_attempt_of_before_counts_and_a_dead_reply_has_failed(empty_url: str) -> None:
    await make_old(empty_url, "story_0019")
    with psycopg.connect(plain_url(empty_url)) as raw:
        for kind in ("reply", "afterthought"):
            raw.execute(_DEAD.replace("KIND", kind))
    store = await open_store(empty_url)
    [session] = await store.chapters.listed()
    requests = [one for one in await store.calls.requests(session.id) if one.has_failed]
    assert {one.kind.value: one.state.value for one in requests} == {
        "reply": "failed",
        "afterthought": "dead",
    }
    assert [(one.attempts, one.tries) for one in requests] == [(3, 3), (3, 3)]
    await store.aclose()


_DEAD = """
INSERT INTO llm_request (session_id, request_id, kind, state, priority, slot, text, attempts,
    error_message, created_at, updated_at)
SELECT id, gen_random_uuid(), 'KIND', 'dead', 20, 1, 'Who?', 3, '', now(), now() FROM session
"""
_CALL = """
WITH asked AS (
    INSERT INTO llm_request (session_id, request_id, kind, state, priority, slot, text, attempts,
        error_message, created_at, updated_at)
    SELECT id, gen_random_uuid(), 'reply', 'done', 20, 1, 'Who?', 1, '', now(), now() FROM session
    RETURNING session_id, request_id
), sent AS (
    INSERT INTO llm_content (session_id, hash, text)
    SELECT session_id, encode(sha256('[]'), 'hex'), '[]' FROM asked
)
INSERT INTO llm_artifact (session_id, artifact_id, request_id, attempt, call, agent_id, provider, model,
    prompt_version, input_hash, input_ref, input_tokens, finish_reason, error_message, left_out, created_at)
SELECT session_id, gen_random_uuid(), request_id, 1, 1, 1, 'openai', 'o4-mini', 'character@1', '',
    encode(sha256('[]'), 'hex'), 10, 'stop', '', '{}', now() FROM asked
"""
