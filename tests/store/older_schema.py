"""A database as an earlier program left it: its schema, and a chapter, or one more in every state."""

from sqlalchemy import Connection, text

from core.domain.session import SessionState
from db.connections import open_engine, parse_url


async def make_old(url: str, revision: str) -> None:
    """Make the schema of that revision in an empty database, with a chapter in it."""
    engine = open_engine(parse_url(url))
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_bring_to, revision)
            [column] = await connection.execute(text(_MEMORY_COLUMN))
            await connection.execute(text(_STORY.replace("MEMORY", column.column_name)))
            if (await connection.execute(text(_HAS_CANON))).scalar_one():
                await connection.execute(text(_CANON))
                await connection.execute(text(_MEMORY_CANON))
    finally:
        await engine.dispose()


def _bring_to(connection: Connection, revision: str) -> None:
    from alembic import command

    from db.migrate import _config

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
    finally:
        await engine.dispose()


# Memory was JSONB alone before it was text with its parsed form beside it.
_MEMORY_COLUMN = """
SELECT column_name FROM information_schema.columns
WHERE table_name = 'memory_block' AND column_name IN ('json_text', 'payload') ORDER BY 1 LIMIT 1
"""
_HAS_CANON = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'canon')"
_CANON = """
INSERT INTO canon (session_id, prompt_index, take)
SELECT session_id, 1, 1 FROM event WHERE ordinal = 0
"""
_MEMORY_CANON = """
INSERT INTO memory_canon (session_id, to_prompt, ordinal, from_prompt, block_id)
SELECT session_id, to_prompt, 0, from_prompt, block_id FROM memory_block
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
