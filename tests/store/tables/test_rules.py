"""What no code path can do, because the database refuses it: raw SQL, past all of our code (design 4)."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from core.domain.ids import SessionId
from core.storage.changes import Changes
from db.store import open_store
from tests.store import chapters
from tests.store.servers import cloned, plain_url

Raw = psycopg.Connection

EVENT = (
    "INSERT INTO event (session_id, event_id, prompt_index, ordinal, role, slot, text, metadata, created_at)"
    " VALUES (%s, gen_random_uuid(), %s, %s, %s, %s, 'x', '{}', now())"
)
CANON = "INSERT INTO canon (session_id, prompt_index, take) VALUES (%s, %s, %s)"
CORRECTION = (
    "WITH made AS (INSERT INTO memory_block (session_id, block_id, type, from_prompt, to_prompt, ordinal,"
    " json_text, created_at) VALUES (%s, gen_random_uuid(), %s, %s, %s, %s, '{}', now()) RETURNING *)"
    " INSERT INTO memory_canon (session_id, to_prompt, ordinal, from_prompt, block_id)"
    " SELECT session_id, to_prompt, ordinal, from_prompt, block_id FROM made"
)
BLOCK = CORRECTION.replace("%s, '{}'", "0, '{}'")
DELTA, LOCK = "turn_delta", "world_chapter_lock"


@dataclass(frozen=True)
class Subject:
    """A database that every test of this file shares, as none changes it, and the session in it."""

    url: str
    session_id: SessionId


@pytest.fixture(scope="module")
def subject(template: str) -> Iterator[Subject]:
    for url in cloned(template):
        yield Subject(url, asyncio.run(_make_chapter(url)))


async def _make_chapter(url: str) -> SessionId:
    """Store a locked session with nine prompts, seven of them in memory, and one of everything else."""
    store = await open_store(url)
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 9)
    remembered = Changes(
        session_id=session.id,
        session=replace(session, boundary=7),
        blocks=(chapters.delta(session, 1, 7),),
        drafts=(chapters.draft(session, 1),),
    )
    await store.commit(remembered, lease)
    await store.aclose()
    return session.id


@pytest.fixture
def chapter(subject: Subject) -> SessionId:
    return subject.session_id


@pytest.fixture
def raw(subject: Subject) -> Iterator[Raw]:
    with psycopg.connect(plain_url(subject.url), autocommit=True) as connection:
        yield connection


@pytest.fixture
def strict(raw: Raw) -> Iterator[Raw]:
    """A connection on which keys that wait for the commit are checked at once; rolled back at the end."""
    with raw.transaction(force_rollback=True):
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")
        yield raw


def _refused(raw: Raw, why: type[psycopg.Error] | str, statement: str, *values: object) -> None:
    with pytest.raises(psycopg.Error) as caught, raw.transaction():
        raw.execute(statement, values)
    if isinstance(why, str):
        assert caught.value.sqlstate == why, caught.value
    else:
        assert isinstance(caught.value, why), caught.value


APPEND_ONLY = "SE002"
RULE = "SE004"

GROWING = {
    "event": "text = 'other'",
    "memory_block": "json_text = '{}'",
    "narrative_draft": "text = 'other'",
    "llm_artifact": "model = 'other'",
    "llm_content": "text = 'other'",
}


@pytest.mark.parametrize("table", GROWING)
def test_what_was_written_stays(chapter: SessionId, strict: Raw, table: str) -> None:
    _refused(strict, APPEND_ONLY, f"UPDATE {table} SET {GROWING[table]} WHERE session_id = %s", chapter)
    _refused(strict, APPEND_ONLY, f"DELETE FROM {table} WHERE session_id = %s", chapter)
    _refused(strict, APPEND_ONLY, f"TRUNCATE {table} CASCADE")
    assert strict.execute(f"SELECT count(*) FROM {table}").fetchone() != (0,)


@pytest.mark.parametrize("column", ["prompt_index", "ordinal", "slot", "event_id", "created_at", "role"])
def test_nothing_of_an_event_changes(chapter: SessionId, strict: Raw, column: str) -> None:
    other = {
        "prompt_index": "prompt_index + 100",
        "ordinal": "ordinal + 7",
        "slot": "7",
        "event_id": "gen_random_uuid()",
        "created_at": "now()",
        "role": "'system'",
    }[column]
    _refused(
        strict,
        APPEND_ONLY,
        f"UPDATE event SET {column} = {other} WHERE session_id = %s AND ordinal = 1",
        chapter,
    )


def test_metadata_of_an_event_alone_may_change(chapter: SessionId, strict: Raw) -> None:
    strict.execute("UPDATE event SET metadata = '{\"a\": 1}' WHERE session_id = %s", (chapter,))
    _refused(
        strict, APPEND_ONLY, "UPDATE event SET metadata = '{}', text = 'x' WHERE session_id = %s", chapter
    )


def test_the_purge_of_one_session_does_not_open_another(chapter: SessionId, strict: Raw) -> None:
    strict.execute("SELECT set_config('storyengine.purge', %s, true)", (str(uuid4()),))
    _refused(strict, APPEND_ONLY, "DELETE FROM event WHERE session_id = %s", chapter)


def test_a_session_is_deleted_by_a_purge_alone_and_from_the_archive_alone(
    chapter: SessionId, strict: Raw
) -> None:
    delete = "DELETE FROM session WHERE id = %s"
    _refused(strict, "SE003", delete, chapter)
    strict.execute("SELECT set_config('storyengine.purge', %s, true)", (str(chapter),))
    _refused(strict, "SE003", delete, chapter)
    strict.execute("SELECT set_config('storyengine.purge', '', true)")
    strict.execute("UPDATE session SET archived_at = now() WHERE id = %s", (chapter,))
    _refused(strict, "SE003", delete, chapter)
    strict.execute("SELECT set_config('storyengine.purge', %s, true)", (str(chapter),))
    strict.execute(delete, (chapter,))


@pytest.mark.parametrize(
    ("prompt_index", "ordinal", "role", "slot", "why"),
    [
        pytest.param(9, 1, "agent", 1, errors.UniqueViolation, id="a second reply with the same ordinal"),
        pytest.param(9, 0, "user", 1, errors.UniqueViolation, id="a prompt twice"),
        pytest.param(10, 1, "agent", 1, errors.ForeignKeyViolation, id="a reply without a prompt"),
        pytest.param(11, 0, "user", 1, errors.ForeignKeyViolation, id="a prompt after a hole"),
        pytest.param(0, 0, "user", 1, errors.CheckViolation, id="a prompt before the first"),
        pytest.param(10, 0, "agent", 1, errors.CheckViolation, id="a reply in the GM's place"),
        pytest.param(9, 2, "user", 1, errors.CheckViolation, id="the GM in a reply's place"),
        pytest.param(9, -1, "agent", 1, errors.CheckViolation, id="an ordinal below 0"),
        pytest.param(9, 2, "agent", None, errors.CheckViolation, id="a reply by nobody"),
        pytest.param(9, 2, "agent", 8, errors.CheckViolation, id="a reply by an eighth character"),
        pytest.param(9, 2, "ghost", 1, errors.CheckViolation, id="an unknown role"),
    ],
)
def test_the_log_has_neither_holes_nor_doubles(
    chapter: SessionId,
    strict: Raw,
    prompt_index: int,
    ordinal: int,
    role: str,
    slot: int | None,
    why: type[psycopg.Error],
) -> None:
    _refused(strict, why, EVENT, chapter, prompt_index, ordinal, role, slot)


def test_a_line_and_a_next_prompt_fit(chapter: SessionId, raw: Raw) -> None:
    with raw.transaction(force_rollback=True):
        raw.execute(EVENT, (chapter, 9, 3, "system", None))
        raw.execute(EVENT, (chapter, 9, 2, "system", None))
        raw.execute("UPDATE session SET prompt_index = 10 WHERE id = %s", (chapter,))
        raw.execute(EVENT, (chapter, 10, 0, "user", 1))
        raw.execute(EVENT, (chapter, 10, 1, "agent", 1))
        raw.execute(CANON, (chapter, 10, 1))
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.parametrize(
    ("kind", "first", "last", "why"),
    [
        pytest.param(DELTA, 9, 14, errors.ForeignKeyViolation, id="a hole"),
        pytest.param(DELTA, 7, 9, errors.ForeignKeyViolation, id="an overlap in the middle"),
        pytest.param(DELTA, 1, 9, errors.UniqueViolation, id="an overlap from the same start"),
        pytest.param(DELTA, 5, 7, errors.UniqueViolation, id="an overlap to the same end"),
        pytest.param(DELTA, 8, 7, errors.CheckViolation, id="a range backwards"),
        pytest.param(DELTA, 0, 7, errors.CheckViolation, id="a delta from before the first prompt"),
        pytest.param(DELTA, 0, 0, errors.CheckViolation, id="a delta of no prompts"),
        pytest.param(LOCK, 0, 0, errors.UniqueViolation, id="a second lock"),
        pytest.param(LOCK, 8, 9, errors.CheckViolation, id="a lock with prompts"),
        pytest.param("dream", 8, 9, errors.CheckViolation, id="an unknown type"),
    ],
)
def test_memory_is_one_chain(
    chapter: SessionId, strict: Raw, kind: str, first: int, last: int, why: type[psycopg.Error]
) -> None:
    _refused(strict, why, BLOCK, chapter, kind, first, last)


def test_the_next_delta_fits(chapter: SessionId, raw: Raw) -> None:
    with raw.transaction(force_rollback=True):
        raw.execute(BLOCK, (chapter, DELTA, 8, 9))
        raw.execute("UPDATE session SET boundary = 9 WHERE id = %s", (chapter,))
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ("boundary = 10", errors.CheckViolation),
        ("boundary = -1", RULE),
        ("boundary = 3", RULE),
        ("boundary = 8", errors.ForeignKeyViolation),
        ("prompt_index = 10", errors.ForeignKeyViolation),
        ("prompt_index = -1, boundary = -1", RULE),
        ("state = 'DREAMING'", errors.CheckViolation),
        ("slots = '{}'", RULE),
        ("slots = '{1,8}'", RULE),
        ("next_slot = 0", RULE),
        ("chunk_size = 0", RULE),
        ("target_words = 0", errors.CheckViolation),
        ("tab1_locked = false", APPEND_ONLY),
    ],
)
def test_the_session_tells_the_truth(
    chapter: SessionId, strict: Raw, values: str, why: type[psycopg.Error] | str
) -> None:
    _refused(strict, why, f"UPDATE session SET {values} WHERE id = %s", chapter)


def test_keys_that_wait_are_checked_at_commit(chapter: SessionId, raw: Raw) -> None:
    _refused(raw, errors.ForeignKeyViolation, "UPDATE session SET prompt_index = 10 WHERE id = %s", chapter)
    _refused(raw, errors.ForeignKeyViolation, BLOCK, chapter, DELTA, 9, 14)
    _refused(raw, errors.ForeignKeyViolation, EVENT, chapter, 11, 0, "user", 1)


def test_locked_tab1_stays(chapter: SessionId, strict: Raw) -> None:
    _refused(strict, APPEND_ONLY, "UPDATE tab1_input SET world = 'other' WHERE session_id = %s", chapter)
    _refused(
        strict,
        APPEND_ONLY,
        'UPDATE tab1_input SET identities = \'{"1": "x"}\' WHERE session_id = %s',
        chapter,
    )
    _refused(strict, APPEND_ONLY, "DELETE FROM tab1_input WHERE session_id = %s", chapter)


def test_a_session_is_not_locked_without_its_lock_block(chapter: SessionId, strict: Raw) -> None:
    columns = "state, title, script_key, is_ending, slots, names, next_slot, definition, chunk_size, limits"
    new = (
        f"INSERT INTO session (id, prompt_index, boundary, tab1_locked, created_at, updated_at, {columns})"
        f" SELECT gen_random_uuid(), 0, 0, %s, now(), now(), {columns} FROM session WHERE id = %s"
    )
    _refused(strict, errors.ForeignKeyViolation, new, True, chapter)


def test_an_attempt_is_recorded_once_and_needs_what_it_names(chapter: SessionId, strict: Raw) -> None:
    copy = (
        "INSERT INTO llm_artifact SELECT session_id, gen_random_uuid(), {request}, attempt, {call}, agent_id,"
        " provider, model, prompt_version, input_hash, {content}, output_ref, input_tokens, output_tokens,"
        " cached_tokens, reasoning_tokens, first_token_ms, total_ms, finish_reason, error_code,"
        " error_message, left_out, created_at FROM llm_artifact WHERE session_id = %s LIMIT 1"
    )
    same = {"request": "request_id", "call": "call", "content": "input_ref"}
    _refused(strict, errors.UniqueViolation, copy.format(**same), chapter)
    later = same | {"call": "call + 1"}
    for missing in ({"request": "gen_random_uuid()"}, {"content": "repeat('0', 64)"}):
        _refused(strict, errors.ForeignKeyViolation, copy.format(**later | missing), chapter)
    strict.execute(copy.format(**later), (chapter,))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ("kind = 'dream'", RULE),
        ("state = 'lost'", RULE),
        ("slot = NULL", RULE),
        ("slot = 9", RULE),
        ("attempts = -1", errors.CheckViolation),
        ("uncounted = -1", errors.CheckViolation),
        ("uncounted = attempts + 1", errors.CheckViolation),
        ("to_prompt = NULL", errors.CheckViolation),
        ("from_prompt = 99", errors.CheckViolation),
    ],
)
def test_a_request_makes_sense(
    chapter: SessionId, strict: Raw, values: str, why: type[psycopg.Error] | str
) -> None:
    _refused(strict, why, f"UPDATE llm_request SET {values} WHERE session_id = %s", chapter)


@pytest.mark.parametrize("kind", ["lock", "reply", "narrative"])
def test_what_goes_back_to_the_gm_is_never_a_dead_letter(chapter: SessionId, strict: Raw, kind: str) -> None:
    asked = (
        "INSERT INTO llm_request (session_id, request_id, kind, state, priority, slot, text, attempts,"
        " error_message, created_at, updated_at)"
        f" VALUES (%s, gen_random_uuid(), '{kind}', '{{}}', 0, 1, 'Who?', 1, '', now(), now())"
    )
    _refused(strict, errors.CheckViolation, asked.format("dead"), chapter)
    strict.execute(asked.format("failed"), (chapter,))


@pytest.mark.parametrize(
    ("kind", "at", "last", "ordinal", "why"),
    [
        pytest.param("canon_correction", 5, 5, 1, errors.ForeignKeyViolation, id="inside a delta"),
        pytest.param("canon_correction", 7, 7, 2, errors.ForeignKeyViolation, id="with a gap before it"),
        pytest.param("canon_correction", 9, 9, 1, errors.ForeignKeyViolation, id="behind what is not there"),
        pytest.param("canon_correction", 7, 7, 0, errors.IntegrityError, id="in the place of a delta"),
        pytest.param("canon_correction", 1, 7, 1, errors.CheckViolation, id="over a range"),
        pytest.param(DELTA, 8, 9, 1, errors.ForeignKeyViolation, id="a private delta without the first"),
    ],
)
def test_a_correction_is_stored_only_behind_a_block_or_another_correction(
    chapter: SessionId, strict: Raw, kind: str, at: int, last: int, ordinal: int, why: type[psycopg.Error]
) -> None:
    _refused(strict, why, CORRECTION, chapter, kind, at, last, ordinal)


def test_corrections_leave_the_chain_of_deltas_alone_and_stay_as_they_are(
    chapter: SessionId, strict: Raw
) -> None:
    for at, ordinal in ((0, 1), (7, 1), (7, 2)):
        strict.execute(CORRECTION, (chapter, "canon_correction", at, at, ordinal))
    _refused(strict, errors.UniqueViolation, CORRECTION, chapter, "canon_correction", 7, 7, 2)
    of_corrections = "session_id = %s AND type = 'canon_correction'"
    _refused(strict, APPEND_ONLY, f"UPDATE memory_block SET json_text = '[]' WHERE {of_corrections}", chapter)
    _refused(strict, APPEND_ONLY, f"DELETE FROM memory_block WHERE {of_corrections}", chapter)
    _refused(strict, errors.UniqueViolation, BLOCK, chapter, DELTA, 5, 7)


PROMPT_BLOCKS = "INSERT INTO prompt_blocks (session_id, variant, variants, blocks) VALUES (%s, %s, %s, %s)"
PROMPT_BLOCK: Final = {"id": 1, "name": "Tone", "text": "", "order": 100, "place": "rules", "is_on": True}


@pytest.mark.parametrize(
    "change",
    [
        {"id": 0},
        {"id": 41},
        {"order": 99},
        {"order": 1_601},
        {"order": "x"},
        {"name": ""},
        {"place": "nowhere"},
        {"text": None},
        {"is_on": "yes"},
    ],
)
def test_a_prompt_block_has_bounds(chapter: SessionId, strict: Raw, change: dict[str, object]) -> None:
    entry = json.dumps([PROMPT_BLOCK, {**PROMPT_BLOCK, **change}])
    _refused(strict, errors.CheckViolation, PROMPT_BLOCKS, chapter, "default", [], entry)
    strict.execute(PROMPT_BLOCKS, (chapter, "default", [], json.dumps([PROMPT_BLOCK])))


@pytest.mark.parametrize(
    ("variant", "variants", "blocks"),
    [
        ("noir", [], []),
        ("noir", ["noir", *map(str, range(8))], []),
        ("default", [], {}),
        ("default", [], [1]),
        ("default", [], [PROMPT_BLOCK] * 41),
        ("default", [], [{**PROMPT_BLOCK, "text": "x" * 200_000}]),
    ],
    ids=["unknown variant", "nine variants", "no list", "a number", "41 blocks", "too long"],
)
def test_prompt_blocks_have_bounds(
    chapter: SessionId, strict: Raw, variant: str, variants: list[str], blocks: object
) -> None:
    values = (chapter, variant, variants, json.dumps(blocks))
    _refused(strict, errors.CheckViolation, PROMPT_BLOCKS, *values)
    strict.execute(PROMPT_BLOCKS, (chapter, "noir", ["noir", "7"], json.dumps([PROMPT_BLOCK] * 40)))
