"""From a model's text to memory and replies that may be stored (design 7)."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.agents import character, context_summary, world_lock
from core.agents.json_output import (
    MAX_OUTPUT,
    MAX_PROBLEMS,
    InvalidMemoryError,
    read_object,
    refuse_longer_than_source,
)
from core.errors import ErrorCode, StoryEngineError
from core.fence import SegmentName, closing_mark, opening_mark
from core.prompt_range import PromptRange
from core.slot import Slot
from core.text import clean
from tests.core.samples import any_text, delta_payload, lock_payload, session

MINE = session(names={Slot.RED: "Mara"})
CHUNK = PromptRange(8, 14)


def delta(text: str, source: int = 2_000) -> dict[str, Any]:
    return context_summary.parse(text, MINE, CHUNK, source)


def changed(**changes: object) -> str:
    return json.dumps({**delta_payload(), **changes})


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidMemoryError) as caught:
        delta(text)
    assert caught.value.code is ErrorCode.LLM_INVALID_JSON
    assert 1 <= len(caught.value.problems) <= MAX_PROBLEMS
    return caught.value.problems


# --- repair ---------------------------------------------------------------------------------------

GOOD = json.dumps(delta_payload())


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here is the delta:\n\n{GOOD}\n\nI hope that {{this}} helps!",
        GOOD[:-1],
        GOOD.replace('"canon_locks": []', '"canon_locks": [],'),
        GOOD.replace('"', "'"),
        GOOD.replace("{", "{ // a comment\n", 1),
        json.dumps(delta_payload(), indent=4),
    ],
    ids=["as is", "fenced", "prose around", "unclosed", "comma", "quotes", "comment", "indented"],
)
def test_what_is_not_quite_json_is_repaired(text: str) -> None:
    assert delta(text)["location_updates"]["where"] == "cellar"


@pytest.mark.parametrize("text", ["", "I cannot do that.", "[1, 2, 3]", '"text"', "{", "null", "}{"])
def test_what_holds_no_object_is_invalid(text: str) -> None:
    with pytest.raises(InvalidMemoryError):
        delta(text)


@pytest.mark.parametrize(
    "slot", ["9" * 5_000, 10**300, -1, 1.5, "٣" * 5_000, "8", "0", "", "-1", "1e3", None, [1]]
)
def test_a_slot_that_is_no_slot_is_invalid_json_and_no_fault_of_the_program(slot: object) -> None:
    action = {"agent_slot": slot, "name": "nobody here", "did": "x", "intent": "", "result": "unknown"}
    assert problems_of(changed(character_actions=[action]))


def test_absurd_output_is_refused_quickly() -> None:
    began = time.perf_counter()
    for text in (
        '{"a":' * 900,
        '{"a":' * 40_000,
        "{" * MAX_OUTPUT,
        "{" + "x" * MAX_OUTPUT,
        "{" + "x" * 50_000,
    ):
        with pytest.raises(InvalidMemoryError):
            delta(text)
    assert time.perf_counter() - began < 5


@settings(deadline=None, max_examples=200)
@given(
    st.one_of(any_text, any_text.map(lambda text: GOOD[:200] + text), any_text.map(lambda text: text + GOOD))
)
def test_any_output_is_memory_or_invalid(text: str) -> None:
    try:
        payload = delta(text)
    except InvalidMemoryError:
        return
    assert payload["memory_type"] == "turn_delta"


def test_strings_are_cleaned() -> None:
    text = changed(canon_locks=["\x1b[31mThe bridge\x00 is gone.\x1b[0m\u202e"])
    assert delta(text)["canon_locks"] == ["The bridge is gone."]
    assert read_object('{"a": {"b": ["\\ud800x", null]}}') == {"a": {"b": ["x", None]}}


# --- validation -----------------------------------------------------------------------------------


def test_the_payload_is_stored_as_returned() -> None:
    payload = {**delta_payload(), "canon_locks": ["The bridge is gone."], "state_changes": []}
    stored = delta(json.dumps(payload))
    assert {**stored, "range": payload["range"], "character_actions": payload["character_actions"]} == payload


@pytest.mark.parametrize("key", [key for key in delta_payload() if key not in ("memory_type", "range")])
def test_a_missing_key_is_named(key: str) -> None:
    payload = delta_payload()
    del payload[key]
    assert any(problem.startswith(key) for problem in problems_of(json.dumps(payload)))


def test_unknown_keys_are_dropped_at_every_level() -> None:
    text = changed(
        mood="dark", location_updates={"where": "cellar", "notable_environment_changes": [], "x": 1}
    )
    stored = delta(text)
    assert "mood" not in stored
    assert stored["location_updates"] == {"where": "cellar", "notable_environment_changes": []}


def test_bounds_are_kept() -> None:
    assert problems_of(changed(canon_locks=["x" * 401]))[0].startswith("canon_locks.0: ")
    assert problems_of(changed(canon_locks=["x"] * 17))[0].startswith("canon_locks: ")
    shift = {"between": ["Mara"], "change": "", "evidence": ""}
    assert problems_of(changed(relationship_shifts=[shift]))[0].startswith("relationship_shifts.0.between")
    assert problems_of(changed(canon_locks="one"))[0].startswith("canon_locks: ")
    assert len(problems_of("{}")) > 5


def test_a_summary_longer_than_its_source_is_refused() -> None:
    long = changed(canon_locks=["x" * 400] * 12)
    assert delta(long, source=2_000)
    with pytest.raises(InvalidMemoryError, match="memory") as caught:
        delta(long, source=100)
    assert "write far less" in caught.value.problems[0]
    refuse_longer_than_source({"a": "x" * 2_300}, 100)
    with pytest.raises(InvalidMemoryError):
        refuse_longer_than_source({"a": "x" * 2_400}, 100)


# --- the engine's truth ---------------------------------------------------------------------------


def test_type_and_range_are_the_engines() -> None:
    stored = delta(changed(memory_type="world_chapter_lock", range={"from_marker": "1"}))
    assert stored["memory_type"] == "turn_delta"
    assert stored["range"] == {"from_marker": "8)", "to_marker": "14)", "prompt_count_in_chunk": 7}


def test_the_roster_is_the_engines() -> None:
    text = json.dumps({**lock_payload(), "agents": [{"slot": 9, "name": "Nobody"}], "memory_type": "lock"})
    stored = world_lock.parse(text, MINE)
    assert stored["memory_type"] == "world_chapter_lock"
    assert stored["agents"] == [
        {"slot": 1, "color": "red", "name": "Mara"},
        {"slot": 2, "color": "orange", "name": "Agent Orange"},
        {"slot": 3, "color": "yellow", "name": "Agent Yellow"},
    ]
    assert {**stored, "agents": lock_payload()["agents"]} == lock_payload()


@pytest.mark.parametrize(
    ("slot", "name", "expected"),
    [
        (1, "Mara", (1, "Mara")),
        (1, "The ferrywoman", (1, "Mara")),
        ("2", "", (2, "Agent Orange")),
        (1, "agent yellow", (3, "Agent Yellow")),
        (9, "Mara", (1, "Mara")),
        (None, " Mara ", (1, "Mara")),
    ],
)
def test_actions_belong_to_the_cast(slot: object, name: str, expected: tuple[int, str]) -> None:
    action = {"agent_slot": slot, "name": name, "did": "ran", "intent": "", "result": ""}
    placed = delta(changed(character_actions=[action]))["character_actions"][0]
    assert (placed["agent_slot"], placed["name"]) == expected


@pytest.mark.parametrize(("slot", "name"), [(9, "Nobody"), (0, ""), (None, None), ("a", {})])
def test_an_action_of_nobody_is_invalid(slot: object, name: object) -> None:
    action = {"agent_slot": slot, "name": name, "did": "ran", "intent": "", "result": ""}
    assert "no character of the cast" in problems_of(changed(character_actions=[action]))[0]


# --- replies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("I knock.", "I knock."),
        ("  \n I knock. \n", "I knock."),
        ("Mara: I knock.", "I knock."),
        ("**Mara:** I knock.", "I knock."),
        ("MARA :\nI knock.", "I knock."),
        ("Mara knocks: once, twice.", "Mara knocks: once, twice."),
        ("Tobin: wait!", "Tobin: wait!"),
        ("I\x1b[1m knock\x07.\n\n\n\nTwice.", "I knock.\n\n\n\nTwice."),
        ("I knock.\n=== LEDGER ===\nIt reads thus.", "I knock.\n=== LEDGER ===\nIt reads thus."),
        ("I knock.\n=== END USER_PROMPT ===\nMore", "I knock.\n=== END USER_PROMPT ===\nMore"),
        ("I knock.\n\n===\n\nLater I wait.", "I knock.\n\n===\n\nLater I wait."),
    ],
)
def test_replies_are_cleaned(text: str, reply: str) -> None:
    assert character.clean_reply(text, "Mara") == reply


@given(st.text("ABC_ ", min_size=1, max_size=20).filter(lambda name: name.strip() not in list(SegmentName)))
def test_a_line_that_looks_like_a_section_of_the_story_stays_in_the_reply(name: str) -> None:
    reply = f"I read.\n\n=== {name} ===\nThe page reads thus.\n\nAnd I go on."
    assert character.trim_small_reply(reply, is_unfinished=False) == (reply, ())
    assert character.clean_reply(reply, "Mara") == reply


@pytest.mark.parametrize("name", SegmentName)
@pytest.mark.parametrize("mark", [opening_mark, closing_mark])
def test_our_own_section_ends_the_reply_of_a_very_small_model_and_the_cut_is_told(
    mark: Callable[[SegmentName], str], name: SegmentName
) -> None:
    text = f"I knock.\n{mark(name)}\nMore"
    kept, cut = character.trim_small_reply(text, is_unfinished=False)
    assert kept == "I knock.\n"
    assert cut == (f"The end of the output from the line “{mark(name)}” ({len(mark(name)) + 5} characters)",)


def test_an_unfinished_sentence_of_a_very_small_model_is_cut_and_the_cut_is_told() -> None:
    kept, cut = character.trim_small_reply("I knock. Then I wa", is_unfinished=True)
    assert kept == "I knock."
    assert cut == ("The end of the output after its last whole sentence (9 characters)",)


@pytest.mark.parametrize("text", ["", " \n\t", "Mara:", "\u200b\u200d", "\x1b[31m\x1b[0m", "Mara: \n"])
def test_a_blank_reply_is_an_error(text: str) -> None:
    with pytest.raises(StoryEngineError) as caught:
        character.clean_reply(text, "Mara")
    assert caught.value.code is ErrorCode.LLM_ERROR


def test_a_name_may_hold_any_character() -> None:
    assert character.clean_reply("A.*(b: I knock.", "A.*(b") == "I knock."
    assert character.clean_reply("Axx(b: I knock.", "A.*(b") == "Axx(b: I knock."


@settings(deadline=None, max_examples=150)
@given(any_text)
def test_a_reply_is_what_was_said_or_an_error(text: str) -> None:
    try:
        reply = character.clean_reply(text, "Mara")
    except StoryEngineError:
        return
    assert reply == reply.strip() != ""
    assert reply in clean(text)
