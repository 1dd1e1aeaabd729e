"""Rules of who knows what, held by the database: each statement here breaks one, in raw SQL (design 13)."""

import psycopg
import pytest

from core.domain.ids import SessionId
from tests.store.tables.test_rules import EVENT, RULE, Raw
from tests.store.tables.test_rules import chapter as chapter
from tests.store.tables.test_rules import raw as raw
from tests.store.tables.test_rules import strict as strict
from tests.store.tables.test_rules import subject as subject
from tests.store.tables.test_story_rules import HERE, Statement, _all_refused, _run, event, on_session

CHECK, KEY = "23514", "23503"
SECRET = (
    "INSERT INTO secret (session_id, number, text, known_by, reveal_at, reveal_to)"
    " VALUES (%s, %s, 'x', %s, %s, %s)"
)


def secret(
    number: int, known_by: int, reveal_at: int | None = None, reveal_to: int | None = None
) -> Statement:
    return SECRET, (HERE, number, known_by, reveal_at, reveal_to)


def changed(table: str, values: str) -> Statement:
    return f"UPDATE {table} SET {values} WHERE session_id = %s", (HERE,)


def heard(index: int, ordinal: int, audience: int) -> Statement:
    text = EVENT.replace("created_at)", "created_at, audience)").replace("now())", f"now(), {audience})")
    return text, (HERE, index, ordinal, "system", None)


LINE = event(9, 2, "system", None)
CHECKED: dict[str, list[Statement]] = {
    "an audience with a slot that there is not": [heard(9, 2, 128)],
    "those present with a slot that there is not": [on_session("present = 200")],
    "a line that names a character": [event(9, 2, "system", 1)],
    "a reply before the first prompt": [event(0, 0, "agent", 1)],
    "a prompt with the number 0": [event(0, 0, "user", None)],
    "a secret with the number 0": [secret(0, 1)],
    "more secrets than a chapter has": [secret(51, 1)],
    "a reveal that is for nobody in particular": [secret(1, 1, 3)],
    "a reveal before the first prompt": [secret(1, 1, 0, 3)],
    "a secret that a slot knows that there is not": [secret(1, 300)],
    "more groups of a secret than it can have": [
        (
            "INSERT INTO secret (session_id, number, text, known_by, groups)"
            " VALUES (%s, 1, 'x', 1, array_fill('Lamp'::text, '{21}'))",
            (HERE,),
        )
    ],
}
RULED: dict[str, list[Statement]] = {
    "a line at a prompt that is in memory": [event(5, 2, "system", None)],
    "a secret rewritten in play": [secret(1, 1), changed("secret", "text = 'y'")],
    "a secret given to others in play": [secret(1, 1), changed("secret", "known_by = 127")],
    "a secret for another group in play": [secret(1, 1), changed("secret", "groups = '{Lamp}'")],
    "a secret removed in play": [secret(1, 1), ("DELETE FROM secret WHERE session_id = %s", (HERE,))],
    "a prompt that was heard by others": [changed("llm_request", "audience = 1")],
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_check_refuses(chapter: SessionId, strict: Raw, name: str) -> None:
    _all_refused(strict, chapter, CHECKED[name], CHECK)


@pytest.mark.parametrize("name", RULED)
def test_the_database_refuses(chapter: SessionId, strict: Raw, name: str) -> None:
    _all_refused(strict, chapter, RULED[name], RULE)


def test_an_event_is_never_heard_by_others_afterwards(chapter: SessionId, strict: Raw) -> None:
    _all_refused(strict, chapter, [changed("event", "audience = 127 - 1")], "SE002")
    _all_refused(strict, chapter, [changed("memory_block", "audience = 1")], "SE002")


def test_lines_stand_before_the_first_prompt_and_after_the_newest(chapter: SessionId, raw: Raw) -> None:
    with raw.transaction(force_rollback=True):
        opening = [event(0, ordinal, "system", None) for ordinal in range(2)]
        _run(raw, chapter, [LINE, event(9, 3, "system", None)])
        raw.execute("UPDATE session SET writer_epoch = writer_epoch WHERE id = %s", (chapter,))
        with pytest.raises(psycopg.Error) as caught:
            _run(raw, chapter, opening)
        assert caught.value.sqlstate == RULE, "the first chunk is in memory"
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_a_line_leaves_no_gap(chapter: SessionId, strict: Raw) -> None:
    _all_refused(strict, chapter, [event(9, 3, "system", None)], RULE)
    _all_refused(strict, chapter, [event(10, 1, "system", None)], KEY)


def test_the_reveal_of_a_secret_is_planned_in_play_and_a_purge_takes_it(chapter: SessionId, raw: Raw) -> None:
    with raw.transaction(force_rollback=True):
        _run(raw, chapter, [secret(1, 1), changed("secret", "reveal_at = 12, reveal_to = 3")])
        raw.execute("UPDATE session SET archived_at = now() WHERE id = %s", (chapter,))
        raw.execute("SELECT set_config('storyengine.purge', %s::text, true)", (chapter,))
        raw.execute("DELETE FROM session WHERE id = %s", (chapter,))
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")
        left = raw.execute("SELECT count(*) FROM secret WHERE session_id = %s", (chapter,)).fetchone()
        assert left == (0,)
