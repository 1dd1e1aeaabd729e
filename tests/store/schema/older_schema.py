"""A database as an earlier program left it: its schema, and a chapter, or one more in every state."""

import json

import psycopg
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.ids import SessionId
from core.domain.session.session_state import SessionState
from core.domain.story.memory import correction_payload
from core.exchange.session_export import from_json, read_body, to_json
from db.connections import open_engine, parse_url
from db.schema.migrate import HEAD
from db.store import PostgresStore
from tests.core.values.sessions import delta_payload, lock_payload
from tests.store.servers import plain_url


async def by_title(store: PostgresStore) -> dict[str, SessionId]:
    """Return the sessions by their titles."""
    return {line.title: line.id for line in await store.chapters.listed()}


async def check_upgraded(store: PostgresStore, url: str) -> None:
    """Assert that the schema is the newest, and that every long chapter can be exported and read again."""
    sessions = await by_title(store)
    for state in LONG.keys() - {SessionState.RESETTING}:  # in the middle of a reset, nothing is exported
        body = await read_body(store, sessions[f"Long {state}"])
        assert from_json(to_json(body)) == body
    with psycopg.connect(plain_url(url)) as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]


async def make_old(url: str, revision: str) -> None:
    """Make the schema of that revision in an empty database, with a chapter in it."""
    engine = open_engine(parse_url(url))
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_bring_to, revision)
            [column] = await connection.execute(text(_MEMORY_COLUMN))
            await connection.execute(text(_STORY.replace("MEMORY", column.column_name)))
            await _point_at_all(connection)
    finally:
        await engine.dispose()


async def _point_at_all(connection: AsyncConnection) -> None:
    """Make the newest takes and revisions canon, in a schema that has takes."""
    if (await connection.execute(text(_HAS_CANON))).scalar_one():
        await connection.execute(text(_CANON))
        await connection.execute(text(_MEMORY_CANON))


def _bring_to(connection: Connection, revision: str) -> None:
    from alembic import command

    from db.schema.migrate import _config

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


async def add_every_state(url: str) -> None:
    """Add a chapter in each state, with the state as its title, to a database that `make_old` made."""
    engine = open_engine(parse_url(url))
    try:
        async with engine.begin() as connection:
            [column] = await connection.execute(text(_MEMORY_COLUMN))
            for state in SessionState:
                index = 0 if state in (SessionState.DRAFT_TAB1, SessionState.LOCKING) else 1
                boundary = int(state in (SessionState.ENDED, SessionState.NARRATING))
                values = {"state": state.value, "prompts": index, "boundary": boundary}
                statement = text(_IN_STATE.replace("MEMORY", column.column_name))
                await connection.execute(statement, values)
            await _point_at_all(connection)
    finally:
        await engine.dispose()


async def add_long_chapters(url: str, *, with_takes: bool = False) -> None:
    """Add a chapter with memory in each state that has some, to a database of `story_0009` or newer.

    Its title is `Long` and the state. One of its prompts has two replies and an event of the system. With
    takes the newest prompt has two, the chunk in memory was withdrawn once and summarised again, and where
    the chapter is still played a prompt was undone.
    """
    engine = open_engine(parse_url(url))
    try:
        async with engine.begin() as connection:
            for state, (prompts, boundary) in LONG.items():
                values = {"title": f"Long {state}", "state": state.value, **_memory()}
                await connection.execute(text(_LONG), {**values, "prompts": prompts, "boundary": boundary})
            for statement in (_TAKEN_BACK, _TAKES, _REVISION) if with_takes else ():
                await connection.execute(text(statement), {"chunk": _memory()["chunk"]})
            await _point_at_all(connection)
    finally:
        await engine.dispose()


def _memory() -> dict[str, str]:
    """Return the JSON of a lock, two deltas and a correction after prompt 7."""
    memory: dict[str, dict[str, object]] = {"lock": lock_payload()}
    for name, first, last in (("chunk", 1, 7), ("rest", 8, 9)):
        span = {
            "from_marker": f"{first})",
            "to_marker": f"{last})",
            "prompt_count_in_chunk": last - first + 1,
        }
        memory[name] = {**delta_payload(), "range": span}
    memory["correction"] = correction_payload("The bell is whole.", 7)
    return {name: json.dumps(payload) for name, payload in memory.items()}


LONG = {
    SessionState.ACTIVE: (9, 7),
    SessionState.SUMMARIZING: (14, 7),
    SessionState.ENDED: (9, 9),
    SessionState.NARRATING: (9, 9),
    SessionState.RESETTING: (9, 7),
}
"""Prompts and boundary of the long chapter in each state."""


# Memory was JSONB alone before it was text with its parsed form beside it.
_MEMORY_COLUMN = """
SELECT column_name FROM information_schema.columns
WHERE table_name = 'memory_block' AND column_name IN ('json_text', 'payload') ORDER BY 1 LIMIT 1
"""
_HAS_CANON = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'canon')"
_CANON = """
INSERT INTO canon (session_id, prompt_index, take)
SELECT session_id, prompt_index, max(take) FROM event WHERE ordinal = 0 GROUP BY 1, 2 ON CONFLICT DO NOTHING
"""
_MEMORY_CANON = """
INSERT INTO memory_canon (session_id, to_prompt, ordinal, from_prompt, block_id)
SELECT DISTINCT ON (session_id, to_prompt, ordinal) session_id, to_prompt, ordinal, from_prompt, block_id
FROM memory_block ORDER BY session_id, to_prompt, ordinal, revision DESC ON CONFLICT DO NOTHING
"""
_TAKEN_BACK = (
    "UPDATE session SET canon_version = 3, pinned = '{The bell is whole.}' WHERE title LIKE 'Long %'"
)
_TAKES = """
INSERT INTO event (session_id, event_id, prompt_index, take, ordinal, role, slot, text, metadata, created_at)
SELECT id, gen_random_uuid(), number, take, ordinal, CASE ordinal WHEN 0 THEN 'user' ELSE 'agent' END,
    CASE ordinal WHEN 1 THEN 1 END, 'Take ' || take || ' of ' || number, CAST('{}' AS jsonb), now()
FROM session, (VALUES (0, 2), (1, 1)) AS more (later, take), generate_series(0, 1) AS ordinal,
    LATERAL (SELECT prompt_index + later AS number) AS place
WHERE title LIKE 'Long %' AND (later = 0 OR state IN ('ACTIVE', 'RESETTING'))
"""
_REVISION = """
INSERT INTO memory_block
    (session_id, block_id, type, from_prompt, to_prompt, ordinal, json_text, revision, made_from, created_at)
SELECT id, gen_random_uuid(), 'turn_delta', 1, 7, 0, :chunk, 3, locked.block_id, now()
FROM session JOIN memory_block locked ON session_id = id AND to_prompt = 0 WHERE title LIKE 'Long %'
"""
_STORY = """
WITH made AS (
    INSERT INTO session (id, title, script_key, state, is_ending, prompt_index, boundary, slots, names,
        tab1_locked, next_slot, definition, chunk_size, limits, created_at, updated_at)
    VALUES (gen_random_uuid(), 'Old', '', 'ACTIVE', false, 1, 0, '{1,2}', '{}', true, 1, '', 7, '{}',
        now(), now())
    RETURNING id
), tab1 AS (
    INSERT INTO tab1_input (session_id, world, chapter, identities)
    SELECT id, 'Ash', 'Dawn', '{}' FROM made
), locked AS (
    INSERT INTO memory_block (session_id, block_id, type, from_prompt, to_prompt, MEMORY, created_at)
    SELECT id, gen_random_uuid(), 'world_chapter_lock', 0, 0, '{"canon_locks": []}', now() FROM made
)
INSERT INTO event (session_id, event_id, prompt_index, ordinal, role, slot, text, metadata, created_at)
SELECT id, gen_random_uuid(), 1, 0, 'user', NULL, 'Who is there?', CAST('{}' AS jsonb), now() FROM made
UNION ALL SELECT id, gen_random_uuid(), 1, 1, 'agent', 1, 'I am.', CAST('{}' AS jsonb), now() FROM made
"""
_IN_STATE = """
WITH made AS (
    INSERT INTO session (id, title, script_key, state, is_ending, prompt_index, boundary, slots, names,
        tab1_locked, next_slot, definition, chunk_size, limits, created_at, updated_at)
    VALUES (gen_random_uuid(), :state, '', :state, false, :prompts, :boundary, '{1,2}', '{}', :prompts > 0, 1,
        '', 7, '{}', now(), now())
    RETURNING id, prompt_index, boundary
), tab1 AS (
    INSERT INTO tab1_input (session_id, world, chapter, identities)
    SELECT id, 'Ash', 'Dawn', '{}' FROM made
), locked AS (
    INSERT INTO memory_block (session_id, block_id, type, from_prompt, to_prompt, MEMORY, created_at)
    SELECT id, gen_random_uuid(), 'world_chapter_lock', 0, 0, '{"canon_locks": []}', now() FROM made
    WHERE prompt_index = 1
), remembered AS (
    INSERT INTO memory_block (session_id, block_id, type, from_prompt, to_prompt, MEMORY, created_at)
    SELECT id, gen_random_uuid(), 'turn_delta', 1, 1, '{"events": []}', now() FROM made WHERE boundary = 1
)
INSERT INTO event (session_id, event_id, prompt_index, ordinal, role, slot, text, metadata, created_at)
SELECT id, gen_random_uuid(), 1, 0, 'user', NULL, 'Who is there?', CAST('{}' AS jsonb), now() FROM made
WHERE prompt_index = 1
UNION ALL SELECT id, gen_random_uuid(), 1, 1, 'agent', 1, 'I am.', CAST('{}' AS jsonb), now() FROM made
WHERE prompt_index = 1
"""
_LONG = """
WITH made AS (
    INSERT INTO session (id, title, script_key, state, is_ending, prompt_index, boundary, slots, names,
        tab1_locked, next_slot, definition, chunk_size, limits, created_at, updated_at)
    VALUES (gen_random_uuid(), :title, '', :state, false, :prompts, :boundary, '{1,2}', '{}', true, 1, '', 7,
        '{}', now(), now())
    RETURNING id, state, prompt_index, boundary
), tab1 AS (
    INSERT INTO tab1_input (session_id, world, chapter, identities)
    SELECT id, 'Ash', 'Dawn', '{}' FROM made
), remembered AS (
    INSERT INTO memory_block
        (session_id, block_id, type, from_prompt, to_prompt, ordinal, json_text, created_at)
    SELECT id, gen_random_uuid(), type, first, last, number, content, now() FROM made, (VALUES
        ('world_chapter_lock', 0, 0, 0, :lock), ('turn_delta', 1, 7, 0, :chunk),
        ('canon_correction', 7, 7, 1, :correction), ('turn_delta', 8, 9, 0, :rest)
    ) AS memory (type, first, last, number, content) WHERE last <= boundary
), asked AS (
    INSERT INTO llm_request (session_id, request_id, kind, state, priority, slot, text, from_prompt,
        to_prompt, attempts, error_message, created_at, updated_at)
    SELECT id, gen_random_uuid(), 'summary', 'processing', 10, NULL, '', 8, 14, 1, '', now(), now()
    FROM made WHERE state = 'SUMMARIZING'
    UNION ALL SELECT id, gen_random_uuid(), 'reply', 'failed', 20, 2, 'Was it the bell?', NULL, NULL, 1, '',
        now(), now() FROM made WHERE state = 'ACTIVE'
), told AS (
    INSERT INTO narrative_draft (session_id, draft_id, version, definition, source_prompt_index,
        source_block_ids, model, text, created_at)
    SELECT id, gen_random_uuid(), 1, '', 9, '{}', 'a model', 'It was so.', now() FROM made WHERE boundary = 9
)
INSERT INTO event (session_id, event_id, prompt_index, ordinal, role, slot, text, metadata, created_at)
SELECT id, gen_random_uuid(), number, 0, 'user', NULL, 'Prompt ' || number, CAST('{}' AS jsonb), now()
FROM made, generate_series(1, prompt_index) AS number
UNION ALL SELECT id, gen_random_uuid(), number, 1, 'agent', 1 + number % 2, 'Reply ' || number,
    CAST('{}' AS jsonb), now() FROM made, generate_series(1, prompt_index) AS number
UNION ALL SELECT id, gen_random_uuid(), 3, 2, 'agent', 2, 'And I.', CAST('{}' AS jsonb), now() FROM made
UNION ALL SELECT id, gen_random_uuid(), 3, 3, 'system', NULL, 'Night falls.', CAST('{}' AS jsonb), now()
FROM made
"""
