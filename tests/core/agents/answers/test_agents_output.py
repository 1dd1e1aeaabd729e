"""From a model's text to memory and replies that may be stored (design 7)."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents import character
from core.agents.answers.json_output import (
    MAX_MEMORY,
    MAX_OUTPUT,
    InvalidMemoryError,
    ParsedMemory,
    read_object,
)
from core.agents.memory import context_summary, world_lock
from core.config.models.model_config import PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.prompt_range import PromptRange
from core.domain.slot import Slot
from core.domain.story.memory import WIDE_BOUNDS, compact_json
from core.text.cleaning import clean
from core.text.delimiters import SegmentName, closing_mark, opening_mark
from tests.bad_text import KINDS, BadText, acts
from tests.core.values.sessions import any_text, delta_payload, lock_payload, session

MINE = session(names={Slot.RED: "Mara"})
CHUNK = PromptRange(8, 14)


def parsed(text: str, source: int = 2_000, style: PromptStyle = PromptStyle.FULL) -> ParsedMemory:
    return context_summary.parse(text, MINE, CHUNK, source, style)


def delta(text: str) -> Any:
    return parsed(text).payload


def changed(**changes: object) -> str:
    return json.dumps({**delta_payload(), **changes})


def problems_of(text: str, style: PromptStyle = PromptStyle.FULL, source: int = 2_000) -> tuple[str, ...]:
    with pytest.raises(InvalidMemoryError) as caught:
        parsed(text, source, style)
    assert caught.value.code is ErrorCode.LLM_INVALID_JSON
    assert 1 <= len(caught.value.problems) <= 10
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


@pytest.mark.parametrize("slot", ["9" * 5_000, 10**300, -1, 1.5, "٣" * 5_000, [1]], ids=range(6))
def test_a_slot_that_is_no_slot_is_invalid_json_and_no_fault_of_the_program(slot: object) -> None:
    action = {"agent_slot": slot, "name": "nobody here", "did": "x", "intent": "", "result": "unknown"}
    assert problems_of(changed(character_actions=[action]))


def test_absurd_output_is_refused() -> None:
    for text in (
        '{"a":' * 900,
        '{"a":' * 40_000,
        "{" * MAX_OUTPUT,
        "{" + "x" * MAX_OUTPUT,
        "{" + "x" * 50_000,
    ):
        with pytest.raises(InvalidMemoryError):
            delta(text)


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
    assert read_object('{"a": {"b": ["\\ud800x", null]}}', "a").value == {"a": {"b": ["x", None]}}


def test_names_of_keys_are_cleaned_too_because_the_database_refuses_some_letters() -> None:
    told = {**delta_payload(), "notes\x00\ud800": "none"}
    written = parsed(json.dumps(told))
    assert written.payload["notes"] == "none"
    assert "\\u0000" not in (written.json_text or compact_json(written.payload))
    compact_json(written.payload).encode()


# --- validation -----------------------------------------------------------------------------------


plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text.map(clean),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text.map(clean), inner, max_size=3),
    max_leaves=6,
)
new_key = any_text.map(clean).filter(lambda key: key not in delta_payload())


def with_truth(payload: Mapping[str, object]) -> dict[str, object]:
    """What the engine makes of a sample's range and cast."""
    return {**payload, "range": delta(GOOD)["range"], "character_actions": delta(GOOD)["character_actions"]}


@given(st.dictionaries(new_key, plain_json, max_size=3), st.randoms(use_true_random=False), st.booleans())
def test_unknown_keys_and_the_order_of_keys_are_kept(
    more: dict[str, object], random: Random, is_indented: bool
) -> None:
    entries = list({**with_truth(delta_payload()), **more}.items())
    random.shuffle(entries)
    written = json.dumps(dict(entries), ensure_ascii=False, indent=2 if is_indented else None)
    made = parsed(written)
    assert list(made.payload) == [key for key, _ in entries]
    assert json.loads(made.json_text or compact_json(made.payload)) == made.payload
    json.dumps(made.payload, allow_nan=False)
    if "NaN" not in written and "Infinity" not in written:
        assert made.payload == dict(entries)


@pytest.mark.parametrize("indent", [None, 0, 4])
def test_memory_is_stored_as_the_exact_text_that_was_returned(indent: int | None) -> None:
    written = json.dumps({"mood": {"b": 1, "a": [True, None]}, **with_truth(delta_payload())}, indent=indent)
    assert parsed(f"```json\n{written}\n```").json_text == written


@pytest.mark.parametrize(
    "changes",
    [
        {"memory_type": "turn"},
        {"range": {"from_marker": "1"}},
        {"mood": "dark\x1b"},
        {"weight": 1e308 * 10},
        {"weight": 1.5},
        {"character_actions": [{"agent_slot": "2", "name": "", "did": "", "intent": "", "result": ""}]},
    ],
)
def test_text_that_the_engine_had_to_change_is_written_again(changes: Mapping[str, object]) -> None:
    made = parsed(json.dumps({**with_truth(delta_payload()), **changes}))
    assert made.json_text == ""
    json.dumps(made.payload, allow_nan=False)


@pytest.mark.parametrize("key", [key for key in delta_payload() if key not in ("memory_type", "range")])
def test_a_missing_key_is_named(key: str) -> None:
    payload = delta_payload()
    del payload[key]
    assert any(problem.startswith(key) for problem in problems_of(json.dumps(payload)))


def test_what_has_another_shape_is_invalid() -> None:
    shift = {"between": ["Mara"], "change": "", "evidence": ""}
    assert problems_of(changed(relationship_shifts=[shift]))[0].startswith("relationship_shifts.0.between")
    assert problems_of(changed(canon_locks="one"))[0].startswith("canon_locks: ")
    assert len(problems_of("{}")) > 5
    assert len(problems_of(changed(canon_locks=[1] * 14))) == 10, "more than a model can mend at once"


@pytest.mark.parametrize(
    "canon",
    [["x" * 401], ["x"] * 17, ["x" * 2_001], ["x"] * 65, ["x" * 400] * 50],
    ids=lambda canon: len(canon),
)
def test_only_a_very_small_model_has_narrow_bounds(canon: list[str]) -> None:
    made = parsed(changed(canon_locks=canon), source=10_000)
    assert made.payload["canon_locks"] == canon
    is_asked = len(canon) > WIDE_BOUNDS.entries or len(canon[0]) > WIDE_BOUNDS.phrase
    assert [problem.partition(":")[0] for problem in made.too_long] == (
        ["canon_locks" if len(canon) > 1 else "canon_locks.0"] if is_asked else []
    )
    assert "write at most" in problems_of(changed(canon_locks=canon), PromptStyle.SMALL, 10_000)[0]


def test_a_lock_has_no_narrow_bounds_either() -> None:
    lock = {**lock_payload(), "canon_locks": [f"Truth {number}." for number in range(17)]}
    assert (
        world_lock.parse(json.dumps(lock), MINE, PromptStyle.FULL).payload["canon_locks"]
        == lock["canon_locks"]
    )
    with pytest.raises(InvalidMemoryError):
        world_lock.parse(json.dumps(lock), MINE, PromptStyle.SMALL)


def test_a_summary_longer_than_its_source_is_asked_to_be_shorter() -> None:
    long = changed(canon_locks=["x" * 400] * 12)
    assert parsed(long, source=2_000).too_long == ()
    assert "write far less" in parsed(long, source=100).too_long[0]
    assert "write far less" in problems_of(long, PromptStyle.SMALL, 100)[0]


@given(st.integers(1, 60_000), st.integers(1, 400), st.integers(0, 500_000))
def test_valid_memory_within_the_absolute_bound_is_never_lost(total: int, entries: int, source: int) -> None:
    written = changed(canon_locks=["x" * (total // entries)] * entries)
    if len(compact_json(json.loads(written))) <= MAX_MEMORY - 100:
        assert len(parsed(written, source).payload["canon_locks"]) == entries  # type: ignore[arg-type]  # JSON
    elif len(compact_json(json.loads(written))) > MAX_MEMORY + 100:
        assert "write far less" in problems_of(written)[0]


# --- the engine's truth ---------------------------------------------------------------------------


def test_type_and_range_are_the_engines() -> None:
    stored = delta(changed(memory_type="world_chapter_lock", range={"from_marker": "1"}))
    assert stored["memory_type"] == "turn_delta"
    assert stored["range"] == {"from_marker": "8)", "to_marker": "14)", "prompt_count_in_chunk": 7}


def test_the_roster_is_the_engines() -> None:
    text = json.dumps({**lock_payload(), "agents": [{"slot": 9, "name": "Nobody"}], "memory_type": "lock"})
    stored: Any = world_lock.parse(text, MINE, PromptStyle.FULL).payload
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


@pytest.mark.parametrize(
    ("slot", "name"), [(9, "The warden"), (0, ""), (None, "A guard"), ("NPC", "x"), ("8", "x"), ("1e3", "x")]
)
def test_an_action_of_someone_outside_the_cast_is_kept_under_that_name(slot: object, name: str) -> None:
    action = {"agent_slot": slot, "name": name, "did": "ran", "intent": "", "result": ""}
    [placed] = delta(changed(character_actions=[action]))["character_actions"]
    assert placed == {**action, "agent_slot": context_summary.OUTSIDER}


def test_what_a_model_adds_to_the_roster_is_kept_with_its_slot() -> None:
    agents = [{"role": "pilot", "slot": 2, "name": "Somebody"}]
    made: Any = world_lock.parse(
        json.dumps({**lock_payload(), "agents": agents}), MINE, PromptStyle.FULL
    ).payload
    assert made["agents"][1] == {"role": "pilot", "slot": 2, "color": "orange", "name": "Agent Orange"}


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
        ("I knock.\n=== LEDGER ===\nIt reads thus.", "I knock.\n=== LEDGER ===\nIt reads thus."),
        ("I knock.\n=== END USER_PROMPT ===\nMore", "I knock.\n=== END USER_PROMPT ===\nMore"),
        ("I knock.\n\n===\n\nLater I wait.", "I knock.\n\n===\n\nLater I wait."),
    ],
)
def test_replies_do_not_begin_with_the_name_of_their_speaker(text: str, reply: str) -> None:
    assert character.strip_speaker_name(text, "Mara") == reply


@given(st.text("ABC_ ", min_size=1, max_size=20).filter(lambda name: name.strip() not in list(SegmentName)))
def test_a_line_that_looks_like_a_section_of_the_story_stays_in_the_reply(name: str) -> None:
    reply = f"I read.\n\n=== {name} ===\nThe page reads thus.\n\nAnd I go on."
    assert character.trim_small_reply(reply, is_unfinished=False) == (reply, ())
    assert character.strip_speaker_name(reply, "Mara") == reply


@pytest.mark.parametrize("name", SegmentName)
@pytest.mark.parametrize("mark", [opening_mark, closing_mark])
def test_our_own_section_ends_the_reply_of_a_very_small_model_and_the_cut_is_told(
    mark: Callable[[SegmentName], str], name: SegmentName
) -> None:
    text = f"I knock.\n{mark(name)}\nMore"
    kept, cut = character.trim_small_reply(text, is_unfinished=False)
    assert kept == "I knock.\n"
    assert cut == (f"The end of the output from the line “{mark(name)}” ({len(mark(name)) + 5} characters)",)


@pytest.mark.parametrize(
    "mark", ["=== END USER_PROMPTS ===", "=== END USER_PROMIT ===", "== RECENT_CONTEX", "  === LORE ==="]
)
def test_a_misspelled_section_ends_the_reply_of_a_very_small_model_too(mark: str) -> None:
    kept, [cut] = character.trim_small_reply(f"I knock.\n{mark}\nMore", is_unfinished=False)
    assert kept == "I knock.\n"
    assert mark.strip() in cut


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nothing_of_the_output_acts_where_it_is_told_what_was_cut(kind: BadText) -> None:
    mark = opening_mark(SegmentName.USER_PROMPT)
    text = f"I knock.\n{mark}\n{kind.text}\n{mark} {kind.text}"
    for is_unfinished in (False, True):
        _, cut = character.trim_small_reply(text, is_unfinished=is_unfinished)
        assert cut
        assert not acts("".join(cut))
        assert "Before it" not in "".join(cut), "how much was cut is told, and not what"


def test_an_unfinished_sentence_of_a_very_small_model_is_cut_and_the_cut_is_told() -> None:
    kept, cut = character.trim_small_reply("I knock. Then I wa", is_unfinished=True)
    assert kept == "I knock."
    assert cut == ("The end of the output after its last whole sentence (9 characters)",)


@pytest.mark.parametrize("text", ["", " \n\t", "Mara:", "\u200b\u200d", "Mara: \n"])
def test_a_blank_reply_is_an_error(text: str) -> None:
    with pytest.raises(StoryEngineError) as caught:
        character.strip_speaker_name(text, "Mara")
    assert caught.value.code is ErrorCode.LLM_ERROR


def test_a_name_may_hold_any_character() -> None:
    assert character.strip_speaker_name("A.*(b: I knock.", "A.*(b") == "I knock."
    assert character.strip_speaker_name("Axx(b: I knock.", "A.*(b") == "Axx(b: I knock."


@given(any_text)
def test_a_reply_is_what_was_said_or_an_error(text: str) -> None:
    try:
        reply = character.strip_speaker_name(clean(text), "Mara")
    except StoryEngineError:
        return
    assert reply == reply.strip() != ""
    assert reply in clean(text)


def test_a_summary_may_have_four_times_its_source_and_two_thousand_characters_and_not_one_more() -> None:
    memory = changed(canon_locks=["x" * 1_000, "y" * 1_000, "z" * 1_000])
    length = len(compact_json(parsed(memory, source=100_000).payload))
    more = -(length - 2_000) % 4
    memory = changed(canon_locks=["x" * 1_000, "y" * 1_000, "z" * (1_000 + more)])
    length = len(compact_json(parsed(memory, source=100_000).payload))
    source = (length - 2_000) // 4
    assert length == 4 * source + 2_000
    assert parsed(memory, source=source).too_long == ()
    assert parsed(memory, source=source - 1).too_long != ()


def test_an_action_is_the_characters_however_the_accents_of_its_name_are_written() -> None:
    cast = session(names={Slot.RED: "Zoe\u0308"})
    action = {"agent_slot": None, "name": "ZO\u00cb", "did": "ran", "intent": "", "result": ""}
    answer = changed(character_actions=[action])
    made: Any = context_summary.parse(answer, cast, CHUNK, 2_000, PromptStyle.FULL).payload
    placed = made["character_actions"][0]
    assert (placed["agent_slot"], placed["name"]) == (Slot.RED.value, "Zoe\u0308")
