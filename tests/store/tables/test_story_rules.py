"""Rules that span rows or time, held by triggers: each statement here breaks one, in raw SQL (design 4)."""

from uuid import uuid4

import psycopg
import pytest

from core.domain.ids import SessionId
from tests.store.tables.test_rules import APPEND_ONLY, BLOCK, EVENT, RULE, Raw
from tests.store.tables.test_rules import chapter as chapter
from tests.store.tables.test_rules import raw as raw
from tests.store.tables.test_rules import subject as subject

Statement = tuple[str, tuple[object, ...]]

HERE = object()
"""Stands for the session's id."""


def on_session(values: str) -> Statement:
    return f"UPDATE session SET {values} WHERE id = %s", (HERE,)


def event(index: int, ordinal: int, role: str, slot: int | None) -> Statement:
    return EVENT, (HERE, index, ordinal, role, slot)


def draft(version: int, *, source: int = 9, text: str = "Dawn.") -> Statement:
    return (
        "INSERT INTO narrative_draft (session_id, draft_id, version, definition, source_prompt_index,"
        " source_block_ids, model, text, created_at)"
        " VALUES (%s, gen_random_uuid(), %s, '', %s, '{}', 'm', %s, now())",
        (HERE, version, source, text),
    )


def request(slot: int | None, text: str, kind: str = "reply") -> Statement:
    return (
        "INSERT INTO llm_request (session_id, request_id, kind, state, priority, slot, text, attempts,"
        " error_message, created_at, updated_at)"
        " VALUES (%s, gen_random_uuid(), %s, 'pending', 1, %s, %s, 0, '', now(), now())",
        (HERE, kind, slot, text),
    )


def content(digest: str) -> Statement:
    return "INSERT INTO llm_content (session_id, hash, text) VALUES (%s, %s, 'x')", (HERE, digest)


def new_session(**values: str) -> Statement:
    given = {
        "id": f"'{uuid4()}'",
        "title": "''",
        "script_key": "''",
        "state": "'DRAFT_TAB1'",
        "is_ending": "false",
        "prompt_index": "0",
        "boundary": "0",
        "slots": "'{1}'",
        "names": "'{}'",
        "tab1_locked": "false",
        "next_slot": "1",
        "definition": "''",
        "chunk_size": "7",
        "limits": "'{}'",
        "created_at": "now()",
        "updated_at": "now()",
    } | values
    return f"INSERT INTO session ({', '.join(given)}) VALUES ({', '.join(given.values())})", ()


def with_blank_text(statement: Statement) -> Statement:
    return statement[0].replace("'x'", "E' \\n'"), statement[1]


COUNTED = on_session("prompt_index = 10")
PROMPT, REPLY = event(10, 0, "user", None), event(10, 1, "agent", 1)
TAKEN_BACK = "canon_version = canon_version + 1"
WITHDRAWN: Statement = "DELETE FROM memory_canon WHERE session_id = %s AND to_prompt > 0", (HERE,)


def take(index: int, number: int) -> list[Statement]:
    """Return what stores another take of a prompt, and makes it canon."""
    insert = EVENT.replace("ordinal,", "ordinal, take,", 1).replace("%s, %s, 'x'", f"{number}, %s, %s, 'x'")
    events: list[Statement] = [
        (insert, (HERE, index, ordinal, role, slot)) for ordinal, role, slot in _PROMPT_AND_REPLY
    ]
    return [*events, on_canon(f"take = {number}", index)]


def on_canon(values: str, index: int) -> Statement:
    return f"UPDATE canon SET {values} WHERE session_id = %s AND prompt_index = %s", (HERE, index)


_PROMPT_AND_REPLY = ((0, "user", None), (1, "agent", 1))
PURGE: Statement = "SELECT set_config('storyengine.purge', %s::text, true)", (HERE,)

BROKEN: dict[str, list[Statement]] = {
    "a prompt without a reply": [PROMPT, COUNTED],
    "a prompt that a note answers": [PROMPT, event(10, 1, "system", None), COUNTED],
    "a prompt that is not counted": [PROMPT, REPLY],
    "a reply by a character that does not play": [event(9, 2, "agent", 7)],
    "a reply with a gap before it": [event(9, 7, "agent", 1)],
    "a blank reply": [with_blank_text(event(9, 2, "agent", 1))],
    "a blank prompt": [with_blank_text(PROMPT), REPLY, COUNTED],
    "the boundary set back": [on_session("boundary = 0")],
    "the pointer set back without a new version of canon": [on_session("prompt_index = 8")],
    "the version of canon set back": [on_session(TAKEN_BACK), on_session("canon_version = 0")],
    "the boundary set back with its memory left": [on_session(f"boundary = 0, {TAKEN_BACK}")],
    "another take of a prompt that is in memory": take(7, 2),
    "a take without a reply": take(9, 2)[::2],
    "a prompt given another number": [on_canon("prompt_index = 10", 9)],
    "a chapter that came from another": [on_session("branched_from = id, branched_at = 3")],
    "a request sent to another model": [("UPDATE llm_request SET model = 'other'", ())],
    "memory beyond the prompts": [(BLOCK, (HERE, "turn_delta", 8, 99))],
    "memory beyond the boundary": [(BLOCK, (HERE, "turn_delta", 8, 9))],
    "a draft with a gap before it": [draft(99)],
    "a draft of prompts that were not played": [draft(2, source=10)],
    "a blank draft": [draft(2, text=" \n")],
    "a request's text rewritten": [("UPDATE llm_request SET text = 'other' WHERE session_id = %s", (HERE,))],
    "a request given to another character": [("UPDATE llm_request SET slot = 2", ())],
    "a request made earlier": [("UPDATE llm_request SET created_at = '2000-01-01Z'", ())],
    "a settled request taken up again": [("UPDATE llm_request SET state = 'pending'", ())],
    "a blank prompt asked": [request(1, "\t")],
    "a prompt to a character that does not play": [request(7, "And then?")],
    "names changed after the lock": [on_session('names = \'{"1": "Mara"}\'')],
    "the cast changed after the lock": [on_session("slots = '{1}'")],
    "the chunk size changed after the lock": [on_session("chunk_size = 3")],
    "the limits changed after the lock": [on_session("limits = '{\"prompt\": 1}'")],
    "a locked session in the state before the lock": [on_session("state = 'DRAFT_TAB1'")],
    "a locked session that is being locked": [on_session("state = 'LOCKING'")],
    "an ended session that is not in memory whole": [on_session("state = 'ENDED'")],
    "a next character that does not play": [on_session("next_slot = 7")],
    "the writer's epoch set back": [on_session("writer_epoch = 0")],
    "a session given to another script": [on_session("script_key = 'other', script_run = 1")],
    "a session made earlier": [on_session("created_at = '2000-01-01Z'")],
    "a new session in a state that needs the lock": [new_session(state="'ACTIVE'")],
    "a new session whose next character does not play": [new_session(next_slot="2")],
    "a new session without its tab 1": [new_session()],
    "a content under another text's hash": [content("0" * 64)],
}

GONE: dict[str, list[Statement]] = {
    "events of a session that is not archived": [PURGE, ("DELETE FROM event WHERE session_id = %s", (HERE,))],
    "memory of a session that is not archived": [PURGE, ("DELETE FROM memory_block", ())],
    "artifacts of a session that is not archived": [PURGE, ("DELETE FROM llm_artifact", ())],
    "events of an archived session that stays": [
        on_session("archived_at = now()"),
        PURGE,
        ("DELETE FROM event WHERE session_id = %s", (HERE,)),
    ],
    "requests": [("DELETE FROM llm_request WHERE session_id = %s", (HERE,))],
    "tab 1 of a session": [("DELETE FROM tab1_input WHERE session_id = %s", (HERE,))],
}


def test_a_test_call_is_stored_settled_or_not_at_all(chapter: SessionId, raw: Raw) -> None:
    _all_refused(raw, chapter, [request(None, "", "test")], "23514")


def _run(raw: Raw, chapter: SessionId, statements: list[Statement]) -> None:
    with raw.transaction():
        for text, values in statements:
            raw.execute(text, [chapter if value is HERE else value for value in values])


def _all_refused(raw: Raw, chapter: SessionId, statements: list[Statement], why: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        _run(raw, chapter, statements)
    assert caught.value.sqlstate == why, caught.value


@pytest.mark.parametrize("name", BROKEN)
def test_the_database_refuses(chapter: SessionId, raw: Raw, name: str) -> None:
    _all_refused(raw, chapter, BROKEN[name], RULE)


@pytest.mark.parametrize("name", GONE)
def test_the_database_refuses_to_delete(chapter: SessionId, raw: Raw, name: str) -> None:
    _all_refused(raw, chapter, GONE[name], APPEND_ONLY)


@pytest.mark.parametrize(
    "table", ["session", "tab1_input", "unsent_text", "save_slot", "llm_request", "prompt_blocks"]
)
def test_the_database_refuses_to_empty(chapter: SessionId, raw: Raw, table: str) -> None:
    with pytest.raises(psycopg.Error) as caught, raw.transaction():
        raw.execute(f"TRUNCATE {table} CASCADE")
    assert caught.value.sqlstate in (RULE, APPEND_ONLY)


BROKEN_KEYS: dict[str, list[Statement]] = {
    "canon at a take of another prompt": [on_canon("take = 2", 9)],
    "a hole in canon": [("DELETE FROM canon WHERE session_id = %s AND prompt_index = 8", (HERE,))],
    "canon without its last prompt": [
        ("DELETE FROM canon WHERE session_id = %s AND prompt_index = 9", (HERE,))
    ],
    "canon that begins after its first prompt": [("DELETE FROM canon WHERE prompt_index = 1", ())],
    "a take with a gap before it": take(9, 3),
    "memory withdrawn while the boundary stays": [WITHDRAWN],
    "memory of other prompts in the place of a block": [
        ("UPDATE memory_canon SET block_id = (SELECT block_id FROM memory_block WHERE to_prompt = 0)", ())
    ],
}


@pytest.mark.parametrize("name", BROKEN_KEYS)
def test_a_key_refuses(chapter: SessionId, raw: Raw, name: str) -> None:
    _all_refused(raw, chapter, BROKEN_KEYS[name], "23503")


def test_the_pointer_never_moves_below_the_boundary(chapter: SessionId, raw: Raw) -> None:
    _all_refused(raw, chapter, [on_session(f"prompt_index = 6, {TAKEN_BACK}")], "23514")


def test_a_newer_prompt_is_taken_back_and_played_again(chapter: SessionId, raw: Raw) -> None:
    with raw.transaction(force_rollback=True):
        _run(raw, chapter, [on_session(f"prompt_index = 8, {TAKEN_BACK}"), *take(9, 2), *take(9, 3)])
        _run(raw, chapter, [on_session("prompt_index = 9")])
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_a_prompt_that_is_in_memory_is_taken_back_with_that_memory(chapter: SessionId, raw: Raw) -> None:
    with raw.transaction(force_rollback=True):
        _run(raw, chapter, [WITHDRAWN, on_session(f"prompt_index = 7, boundary = 0, {TAKEN_BACK}")])
        _run(raw, chapter, take(7, 2))
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_an_ended_chapter_stays_ended(chapter: SessionId, raw: Raw) -> None:
    with raw.transaction(force_rollback=True):
        raw.execute(BLOCK, (chapter, "turn_delta", 8, 9))
        raw.execute("UPDATE session SET state = 'ENDED', boundary = 9 WHERE id = %s", (chapter,))
        _all_refused(raw, chapter, [on_session("state = 'ACTIVE'")], RULE)
        raw.execute("UPDATE session SET state = 'NARRATING' WHERE id = %s", (chapter,))
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")
