"""The schemas that models are held to, and what a very small model may pick from."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types

from core.agents.answers.extract import (
    CLAUSE_LENGTH,
    CLAUSE_TOKENS,
    FITTED_SHARE,
    changes,
    clauses,
    finds,
    fitted,
    longest_answer,
    pick,
    stretches,
)
from core.agents.answers.schema import Schema, schema_of
from core.agents.memory import context_summary, world_lock
from core.config.models.assignments import defaults_for
from core.config.models.model_config import PromptStyle
from core.context.tokens import estimate_tokens
from core.domain.agent_role import AgentRole
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.memory import TurnDelta, WorldChapterLock
from core.text.cleaning import clean
from tests.core.values.sessions import (
    TAB1,
    any_text,
    choice,
    delta_payload,
    event,
    lock_payload,
    play,
    session,
)

MINE = session(names={Slot.RED: "Mara"}, prompts=14, boundary=7)
CHUNK = PromptRange(8, 14)
EVENTS = play(1, 14, words=5)
SMALL = defaults_for("local")[AgentRole.CONTEXT_SUMMARY]


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from nodes(inner)
    for inner in [schema["items"]] if "items" in schema else schema.get("prefixItems", []):
        yield from nodes(inner)


def schemas(style: PromptStyle) -> list[dict[str, Any]]:
    return [
        dict(world_lock.output_schema(MINE, TAB1, choice(style=style)).schema),
        dict(context_summary.output_schema(MINE, CHUNK, EVENTS, choice(style=style)).schema),
    ]


@pytest.mark.parametrize("style", PromptStyle)
def test_schemas_are_valid_inline_closed_and_bounded(style: PromptStyle) -> None:
    for schema in schemas(style):
        Draft202012Validator.check_schema(schema)
        for node in nodes(schema):
            assert not {"$ref", "$defs", "title", "description", "default"} & node.keys()
            if node["type"] == "object":
                assert node["required"] == list(node["properties"])
                assert node["additionalProperties"] is False
            elif node["type"] == "string":
                assert {"maxLength", "enum", "const"} & node.keys()
            elif node["type"] == "array":
                assert {"maxItems", "const"} & node.keys()


def test_what_the_engine_knows_is_fixed() -> None:
    lock, delta = (schema["properties"] for schema in schemas(PromptStyle.FULL))
    assert lock["memory_type"]["const"] == "world_chapter_lock"
    agents = lock["agents"]
    assert (agents["minItems"], agents["maxItems"]) == (3, 3)
    assert agents["items"]["properties"]["slot"]["enum"] == [1, 2, 3]
    assert agents["items"]["properties"]["color"]["enum"] == ["red", "orange", "yellow"]
    assert agents["items"]["properties"]["name"]["enum"] == ["Mara", "Agent Orange", "Agent Yellow"]
    assert delta["memory_type"]["const"] == "turn_delta"
    fixed = {key: value["const"] for key, value in delta["range"]["properties"].items()}
    assert fixed == {"from_marker": "8)", "to_marker": "14)", "prompt_count_in_chunk": 7}
    actor = delta["character_actions"]["items"]["properties"]
    assert actor["agent_slot"]["enum"] == [0, 1, 2, 3]


def test_valid_memory_follows_the_generated_schema() -> None:
    Draft202012Validator(schema_of(WorldChapterLock)).validate(lock_payload())
    Draft202012Validator(schema_of(TurnDelta)).validate(delta_payload())


def test_two_of_one_name_are_one_choice() -> None:
    twins = session(names={Slot.RED: "Mara", Slot.ORANGE: "Mara"}, characters=2)
    schema = world_lock.output_schema(twins, TAB1, choice()).schema
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["agents"]["items"]["properties"]["name"]["enum"] == ["Mara"]  # type: ignore[index]  # JSON


clean_text = any_text.map(clean)


# --- picking --------------------------------------------------------------------------------------


def answer(schema: dict[str, Any], data: st.DataObject) -> Any:
    """Any value that a model held to `schema` may give."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return data.draw(st.sampled_from(schema["enum"]))
    if schema["type"] == "object":
        return {key: answer(inner, data) for key, inner in schema["properties"].items()}
    if "prefixItems" in schema:
        return [answer(inner, data) for inner in schema["prefixItems"]]
    assert schema["type"] == "array", "a small model writes nothing by itself"
    count = data.draw(st.integers(schema.get("minItems", 0), schema["maxItems"]))
    return [answer(schema["items"], data) for _ in range(count)]


def told(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from told(inner)


@given(clean_text, clean_text, st.data())
def test_whatever_a_small_model_picks_for_the_lock_is_valid_and_from_the_gm(
    world: str, chapter: str, data: st.DataObject
) -> None:
    tab1 = Tab1Inputs(world=world, chapter=chapter)
    schema = dict(world_lock.output_schema(MINE, tab1, SMALL).schema)
    payload: Any = world_lock.parse(json.dumps(answer(schema, data)), MINE, PromptStyle.SMALL).payload
    source = " ".join(f"{world}\n{chapter}".split())
    for part in ("world", "chapter", "canon_locks"):
        assert all(text in source for text in told(payload[part]))


@given(st.lists(st.tuples(clean_text, clean_text), min_size=1, max_size=7), st.data())
def test_whatever_a_small_model_picks_for_a_delta_is_valid_and_was_played(
    turns: list[tuple[str, str]], data: st.DataObject
) -> None:
    events = []
    for prompt, (said, replied) in enumerate(turns, start=1):
        events += [event(prompt, said), event(prompt, replied, Slot(prompt % 3 + 1))]
    chunk = PromptRange(1, len(turns))
    schema = dict(context_summary.output_schema(MINE, chunk, events, SMALL).schema)
    made = context_summary.parse(json.dumps(answer(schema, data)), MINE, chunk, 5_000, PromptStyle.SMALL)
    payload: Any = made.payload
    by_gm = " ".join(" ".join(said.split()) for said, _ in turns)
    assert all(happened["event"] in by_gm for happened in payload["major_events"])
    everything = f"{by_gm} {_replies(turns)}"
    kept = (payload["state_changes"], payload["items_clues_discovered"], payload["unresolved_threads"])
    names = {"", *(name for _, name in MINE.roster)}
    assert all(text in everything or text in names for part in kept for text in told(part))
    assert all(" ".join(action["did"].split()) in _replies(turns) for action in payload["character_actions"])


def _replies(turns: list[tuple[str, str]]) -> str:
    return " ".join(" ".join(replied.split()) for _, replied in turns)


@given(any_text)
def test_clauses_are_pieces_of_the_text(text: str) -> None:
    found = clauses(text)
    assert len(set(found)) == len(found)
    assert all(0 < len(clause) <= CLAUSE_LENGTH and clause == clause.strip() for clause in found)
    assert all(clause in " ".join(text.split()) for clause in found)


def test_clauses_end_at_sentences_and_lines_and_are_bounded() -> None:
    assert clauses("राजा गया। रानी? वह आई") == ["राजा गया।", "रानी?", "वह आई"]
    assert clauses("Iron burns. Who knows? 夜は長い。雪が降る。\nNew line; more") == [
        "Iron burns.",
        "Who knows?",
        "夜は長い。",
        "雪が降る。",
        "New line;",
        "more",
    ]
    for long in ("word " * 200 + "x" * 500, "夜" * 900, "Ночь " * 200):
        found = clauses(long)
        assert all(len(clause) <= CLAUSE_LENGTH for clause in found)
        assert all(estimate_tokens(clause, PromptStyle.SMALL) <= CLAUSE_TOKENS for clause in found)
        assert "".join(found[0].split()) in "".join(long.split())
    assert all(clause.split()[-1] == "burning" for clause in clauses("burning " * 200)), "no word is cut"


@given(st.lists(st.text(max_size=3), max_size=30), st.integers(1, 8))
def test_stretches_cover_everything_in_order(options: list[str], count: int) -> None:
    runs = stretches(options, count)
    assert [option for run in runs for option in run] == options
    assert all(runs)
    assert len(runs) == min(count, len(options))


def test_a_small_models_events_cover_the_chunk_in_order() -> None:
    mine: Session = MINE
    events = [event(prompt, f"Happening {prompt}.") for prompt in range(8, 16)]
    schema = context_summary.output_schema(mine, CHUNK, events, SMALL).schema
    places = schema["properties"]["major_events"]["prefixItems"]  # type: ignore[index]  # JSON
    offered = [place["properties"]["event"]["enum"] for place in places]
    assert [option for options in offered for option in options] == [f"Happening {n}." for n in range(8, 15)]


def test_a_small_model_is_asked_for_a_few_entries_of_each_list_only() -> None:
    tab1 = Tab1Inputs(
        world=" ".join(f"World fact {n} holds." for n in range(40)),
        chapter=" ".join(f"Chapter fact {n} holds." for n in range(40)),
    )
    schema: dict[str, Any] = dict(world_lock.output_schema(MINE, tab1, SMALL).schema)
    most = {
        key: len(field.get("prefixItems", ())) or field.get("maxItems", 0)
        for part in (schema, schema["properties"]["world"], schema["properties"]["chapter"])
        for key, field in part["properties"].items()
        if field["type"] == "array" and key != "agents"
    }
    assert most == {
        "themes": 0,
        "rules_of_reality": 1,
        "factions_or_powers": 0,
        "key_lore": 3,
        "safety_or_boundaries": 1,
        "environment": 2,
        "active_threats": 1,
        "open_mysteries": 1,
        "chapter_goals": 1,
        "canon_locks": 2,
        "assumptions": 0,
    }


def test_a_small_models_delta_holds_the_changes_finds_and_questions_that_were_played() -> None:
    told_, replied = "The bridge breaks. Who cut the ropes? What do you do?", "I pick up the knife. I wait."
    events = [event(8, told_), event(8, replied, Slot.RED)]
    properties: Any = context_summary.output_schema(MINE, CHUNK, events, SMALL).schema["properties"]

    def offered(key: str) -> list[Any]:
        return [
            {name: field["const"] for name, field in place["properties"].items()}
            for place in properties[key]["prefixItems"]
        ]

    change = {"key": "The bridge", "before": "", "after": "The bridge breaks.", "notes": ""}
    assert offered("state_changes") == [change]
    found = {"thing": "the knife", "who_found": "Mara", "why_it_matters": ""}
    assert offered("items_clues_discovered") == [found]
    [thread] = properties["unresolved_threads"]["prefixItems"]
    assert thread["properties"]["thread"]["enum"] == ["Who cut the ropes?"]


def test_a_small_model_is_asked_for_the_acts_of_those_who_spoke_only() -> None:
    events = [event(8, "Who is there?"), event(8, "I wait at the door.", Slot.ORANGE)]
    schema: dict[str, Any] = dict(
        context_summary.output_schema(MINE, PromptRange(8, 8), events, SMALL).schema
    )
    acts = schema["properties"]["character_actions"]["prefixItems"]
    assert [act["properties"]["agent_slot"]["const"] for act in acts] == [Slot.ORANGE.value]


# --- the cap of the output ------------------------------------------------------------------------

SCRIPTS = {
    "plain": "The old bridge over the grey river breaks and falls, and I pick up the wet rope of the ferry. ",
    "CJK": "橋が壊れて川に落ちたので私は濡れた綱を拾い上げて遠くの灯を見る",
    "emoji": "👩\u200d👩\u200d👧\u200d👦" * 9 + " ",
    "quotes": '"\\"' * 30 + "a ",
}
NAMES = {
    "plain": "Bartholomew Featherstonehaugh the Elder",
    "CJK": "語" * 40,
    "emoji": "🧙" * 40,
    "quotes": '"' * 40,
}


def cast_of_seven(script: str) -> Session:
    names = {slot: f"{NAMES[script][:-1]}{slot.value}" for slot in Slot}
    return session(names=names, prompts=14, boundary=7, characters=7)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_longest_delta_of_seven_with_long_names_fits_the_cap_of_the_small_model(script: str) -> None:
    texts = "\n".join(f"{n} {SCRIPTS[script] * 9}?" for n in range(9))
    events = [item for n in range(8, 15) for item in (event(n, texts), event(n, texts, Slot(n - 7)))]
    schema = context_summary.output_schema(cast_of_seven(script), CHUNK, events, SMALL).schema
    assert longest_answer(dict(schema)) <= SMALL.max_output_tokens * FITTED_SHARE
    properties: Any = schema["properties"]
    assert properties["major_events"]["prefixItems"]
    assert properties["character_actions"]["prefixItems"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_longest_lock_of_seven_with_long_names_fits_the_cap_of_the_small_model(script: str) -> None:
    texts = "\n".join(f"{n} {SCRIPTS[script] * 9}" for n in range(9))
    tab1 = Tab1Inputs(world=texts, chapter=texts)
    cap = defaults_for("local")[AgentRole.WORLD_LOCK]
    schema = world_lock.output_schema(cast_of_seven(script), tab1, cap).schema
    assert schema["properties"]["canon_locks"]["prefixItems"]  # type: ignore[index]  # JSON
    assert longest_answer(dict(schema)) <= cap.max_output_tokens * FITTED_SHARE


@given(clean_text, clean_text, st.data())
def test_no_answer_is_longer_than_the_longest(world: str, chapter: str, data: st.DataObject) -> None:
    schema = dict(world_lock.output_schema(MINE, Tab1Inputs(world=world, chapter=chapter), SMALL).schema)
    written = json.dumps(answer(schema, data), ensure_ascii=False)
    assert estimate_tokens(written, PromptStyle.SMALL) <= longest_answer(schema) + 20


@pytest.mark.parametrize(
    ("clause", "key"),
    [
        ("Then the old stone bridge breaks.", "the old stone bridge"),
        ("All but the crates: the machine parts are gone.", "the machine parts"),
        ("You must stop and wait an hour.", None),
        ("Wait an hour, then stop.", None),
    ],
)
def test_a_state_change_is_of_the_thing_that_changes(clause: str, key: str | None) -> None:
    assert [change["key"] for change in changes([clause])] == ([key] if key else [])


@pytest.mark.parametrize(
    ("clause", "thing"),
    [("I find a cello case in the dust.", "a cello case"), ("She takes the lamp and runs.", "the lamp")],
)
def test_a_find_is_named_in_full(clause: str, thing: str) -> None:
    assert [item["thing"] for item in finds([(clause, "")])] == [thing]


def test_a_schema_has_as_many_entries_as_fit_and_none_where_not_even_one_does() -> None:
    def build(count: int) -> Schema:
        return {"type": "array", "const": ["word " * 20] * count}

    one, three = (int(longest_answer(build(count)) / FITTED_SHARE) + 2 for count in (1, 3))
    assert fitted(build, 5, three) == build(3)
    assert fitted(build, 2, three) == build(2)
    assert fitted(build, 5, one) == build(1)
    assert fitted(build, 5, 1) == build(0)


def test_a_small_model_may_keep_two_questions_open_and_else_one_of_the_last_clauses() -> None:
    def threads(told_: str) -> list[list[str]]:
        schema: Any = context_summary.output_schema(MINE, CHUNK, [event(8, told_)], SMALL).schema
        places = schema["properties"]["unresolved_threads"]["prefixItems"]
        return [place["properties"]["thread"]["enum"] for place in places]

    assert threads("Who cut it? It rains. Who ran?") == [["Who cut it?"], ["Who ran?"]]
    assert threads("One. Two. Three. Four. Five.") == [["Two.", "Three.", "Four.", "Five."]]


@pytest.mark.parametrize("text", ["an answer", "語語語", "ünï"])
def test_the_longest_answer_is_estimated_in_the_script_in_which_it_is_written(text: str) -> None:
    assert longest_answer({"type": "string", "const": text}) == estimate_tokens(
        f'"{text}"', PromptStyle.SMALL
    )


def test_one_place_offers_at_most_twenty_four_clauses_taken_evenly() -> None:
    options = [str(number) for number in range(48)]
    assert pick(options)["enum"] == options[::2]
    assert pick(options[:24])["enum"] == options[:24]
