"""Condensing memory: what a model is sent, and what of its answer is kept."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.agents.answers.json_output import InvalidMemoryError, ParsedMemory
from core.agents.memory import condense
from core.agents.memory.condense import Condensation, task_of
from core.agents.role.prompt_file import load_prompt
from core.config.models.assignments import defaults_for
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.slot import Slot
from core.domain.story.memory import MemoryBlock
from core.text.delimiters import SegmentName
from tests.core.values.sessions import delta_block, delta_payload, session

WHO = session(prompts=28, boundary=28, names={Slot.RED: "Kara"})
SECRET_LOCK = "The well is poisoned."


def choice(style: PromptStyle = PromptStyle.FULL, room: int | None = None) -> ModelConfig:
    provider = "local" if style is PromptStyle.SMALL else "openai"
    made = defaults_for(provider)[AgentRole.CONTEXT_SUMMARY]  # type: ignore[arg-type]  # one of the names of providers
    return made if room is None else replace(made, max_input_tokens=room)


def deltas(count: int = 4, words: int = 30) -> tuple[MemoryBlock, ...]:
    return tuple(delta_block(number, [SECRET_LOCK], words) for number in range(1, count + 1))


def task(
    style: PromptStyle = PromptStyle.FULL, *, ratio: float = 0.4, room: int | None = None
) -> Condensation:
    return task_of(WHO, deltas(), choice(style, room), ratio)


def answer(*events: str, **fields: object) -> dict[str, Any]:
    told = [{"event": text, "cause": "", "effect": "", "participants": ["Mara"]} for text in events]
    return {**delta_payload(), "character_actions": [], "major_events": told, "canon_locks": [], **fields}


def read(value: Mapping[str, object], asked: Condensation | None = None) -> ParsedMemory:
    return condense.parse(json.dumps(value), asked or task())


def events_of(made: ParsedMemory) -> list[str]:
    listed: Any = made.payload["major_events"]
    return [one["event"] for one in listed]


def text_of(made: Context) -> str:
    return "\n".join(segment.text for segment in made.segments)


def test_the_input_has_the_deltas_and_the_length_and_no_canon_lock() -> None:
    asked = task()
    made = condense.condensing_context(asked)
    named = {segment.name: segment.text for segment in made.segments}
    assert named[SegmentName.SYSTEM_PROMPT] == load_prompt(condense.PROMPT, PromptStyle.FULL).text
    assert named[SegmentName.STRUCTURED_MEMORY].count('"memory_type":"turn_delta"') == 4
    assert "event4w29" in named[SegmentName.STRUCTURED_MEMORY]
    assert f"prompts 1–28, to at most {asked.limit:,} characters" in named[SegmentName.TASK]
    assert SECRET_LOCK not in text_of(made)
    assert made.schema is not None
    properties: Any = made.schema.schema["properties"]
    assert properties["range"]["properties"]["to_marker"]["const"] == "28)"
    assert properties["canon_locks"]["maxItems"] == 0


def test_what_does_not_fit_is_left_for_later_and_two_deltas_that_are_too_long_are_refused() -> None:
    whole = condense.condensing_context(task()).tokens
    assert [len(task(room=room).sources) for room in (whole, whole - 1, 1)] == [4, 3, 2]
    assert condense.condensing_context(task(room=whole - 1)).tokens < whole
    with pytest.raises(StoryEngineError):
        condense.condensing_context(task(room=1))


def test_range_type_and_locks_are_those_of_the_engine() -> None:
    made = read(answer("event1w0", canon_locks=["Kara is dead."], memory_type="poem", range={}))
    assert made.payload["canon_locks"] == []
    assert made.payload["memory_type"] == "turn_delta"
    assert made.payload["range"] == {"from_marker": "1)", "to_marker": "28)", "prompt_count_in_chunk": 28}
    assert not made.too_long


def test_an_entry_with_a_name_or_a_number_of_its_own_is_dropped_and_the_model_is_told() -> None:
    made = read(answer("Kara sees event2w3", "Bob arrives", "event3w1 in 1984", "event4w0"))
    assert events_of(made) == ["Kara sees event2w3", "event4w0"]
    assert made.too_long == (
        "major_events: “Bob” is not in the memory that you were given.",
        "major_events: “1984” is not in the memory that you were given.",
    )


def test_the_numbers_of_prompts_are_no_numbers_of_the_story() -> None:
    asked = task_of(WHO, deltas(words=4), choice(), 1.0)
    made = read(answer("event2w3 7 times", "event3w1"), asked)
    assert events_of(made) == ["event3w1"]


def test_names_in_their_fields_and_places_are_looked_at_too() -> None:
    foreign = [{"event": "event1w0", "cause": "", "effect": "", "participants": ["Mara", "bob"]}]
    where = {"where": "the keep of Varn", "notable_environment_changes": ["Snow of Oslo", "event1w1"]}
    made = read(
        answer(major_events=foreign, location_updates=where, contradictions_or_questions=["event1w2?"])
    )
    assert made.payload["major_events"] == []
    assert made.payload["location_updates"] == {"where": "", "notable_environment_changes": ["event1w1"]}
    assert made.payload["contradictions_or_questions"] == ["event1w2?"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (answer("Bob arrives", location_updates={"where": "", "notable_environment_changes": []}), "Bob"),
        (answer(location_updates={"where": "", "notable_environment_changes": []}), "says nothing"),
        (answer(*(["event1w0 " * 40] * 6)), "write at most"),
        ({"memory_type": "turn_delta"}, "Field required"),
    ],
)
def test_an_answer_of_no_use_is_refused_with_the_reason(value: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidMemoryError) as refused:
        read(value)
    assert said in " ".join(refused.value.problems)


def test_an_answer_that_is_longer_than_asked_is_asked_for_again_and_may_be_kept() -> None:
    asked = task(ratio=0.2)
    made = read(answer(*(f"event{number}w{word}" for number in range(1, 5) for word in range(4))), asked)
    assert len(events_of(made)) == 16
    assert made.too_long[-1].endswith(f"write at most {asked.limit:,}.")


def test_a_very_small_model_can_only_pick_from_the_deltas() -> None:
    asked = task(PromptStyle.SMALL)
    made = condense.condensing_context(asked)
    assert made.schema is not None
    properties: Any = made.schema.schema["properties"]
    places = properties["major_events"]["prefixItems"]
    offered = [place["properties"]["event"]["enum"] for place in places]
    assert offered == [[" ".join(f"event{n}w{w}" for w in range(30))] for n in range(1, 5)]
    assert properties["canon_locks"]["const"] == []
    picked = answer(offered[0][0], unresolved_threads=[], location_updates=None)
    picked["location_updates"] = {"where": "", "notable_environment_changes": []}
    assert events_of(read(picked, asked)) == offered[0]
