"""Rules of several replies to one prompt, held by the database: each statement breaks one, in raw SQL."""

from uuid import uuid4

import pytest

from core.domain.ids import SessionId
from tests.store.tables.test_rules import EVENT, RULE, Raw
from tests.store.tables.test_rules import chapter as chapter
from tests.store.tables.test_rules import raw as raw
from tests.store.tables.test_rules import subject as subject
from tests.store.tables.test_story_rules import HERE, Statement, _all_refused, _run, on_session, request, take

CHECK = "23514"


def asks(slot: int, *, then: str = "{}", follows: str = "false", prompts: str = "NULL, NULL") -> Statement:
    text, values = request(slot, "Go.")
    text = text.replace("updated_at)", "updated_at, then_slots, follows, from_prompt, to_prompt)")
    return text.replace("now(), now())", f"now(), now(), '{then}', {follows}, {prompts})"), values


def answers(
    slot: int, *, to: int = 9, ordinal: int = 2, asked: int | None = None, more: str = ""
) -> list[Statement]:
    """A further reply to a prompt, from a request of the same slot or of another one."""
    identity = str(uuid4())
    text, values = request(asked or slot, "Go.")
    metadata = f'{{"request_id": "{identity}"{more}}}'
    return [
        (text.replace("gen_random_uuid()", f"'{identity}'"), values),
        (EVENT.replace("'{}'", f"'{metadata}'"), (HERE, to, ordinal, "agent", slot)),
    ]


CHECKED: dict[str, list[Statement]] = {
    "a call of an eighth character": [asks(1, then="{8}")],
    "a call of the same character again": [asks(1, then="{2,1}")],
    "a further reply to no prompt": [asks(1, follows="true")],
    "a further reply to several prompts": [asks(1, follows="true", prompts="8, 9")],
    "a summary that calls characters": [
        (asks(1, then="{2}")[0].replace("%s, 'pending'", "%s, 'pending'"), (HERE, "summary", 1, "Go."))
    ],
}
RULED: dict[str, list[Statement]] = {
    "a call of a character that does not play": [asks(1, then="{2,7}")],
    "a further reply of a character that was not called": answers(2, asked=3),
    "a further reply that no request asked for": [(EVENT, (HERE, 9, 2, "agent", 2))],
    "a further reply from something else than a request": [
        (EVENT.replace("'{}'", """'{"request_id": "that one"}'"""), (HERE, 9, 2, "agent", 2))
    ],
    "a further reply with a gap before it": answers(2, ordinal=3),
    "a further reply to a prompt that is in memory": answers(2, to=7),
    "an unasked reply below the boundary": answers(2, to=6, more=', "unasked_after": 10'),
    "a call that calls others afterwards": [
        ("UPDATE llm_request SET then_slots = '{2}' WHERE session_id = %s", (HERE,))
    ],
}
ALLOWED: dict[str, list[Statement]] = {
    "further replies in order": [*answers(2), *answers(3, ordinal=3)],
    "an unasked reply at the boundary": answers(2, to=7, more=', "unasked_after": 10'),
    "another take of a prompt with further replies": [
        *answers(2),
        on_session("canon_version = canon_version + 1"),
        *take(9, 2),
        (
            EVENT.replace("prompt_index,", "take, prompt_index,").replace("%s, %s, %s", "2, %s, %s, %s", 1),
            (HERE, 9, 2, "agent", 2),
        ),
    ],
    "a call of several": [asks(1, then="{3,2}")],
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_check_refuses(chapter: SessionId, raw: Raw, name: str) -> None:
    _all_refused(raw, chapter, CHECKED[name], CHECK)


@pytest.mark.parametrize("name", RULED)
def test_the_database_refuses(chapter: SessionId, raw: Raw, name: str) -> None:
    _all_refused(raw, chapter, RULED[name], RULE)


@pytest.mark.parametrize("name", ALLOWED)
def test_the_database_takes(chapter: SessionId, raw: Raw, name: str) -> None:
    with raw.transaction(force_rollback=True):
        _run(raw, chapter, ALLOWED[name])
        raw.execute("SET CONSTRAINTS ALL IMMEDIATE")
