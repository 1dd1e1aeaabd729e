"""JSON as models of real services write it: with prose, in a wrapper, with a value of another kind."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from core.agents import speaking
from core.agents.answers.json_output import InvalidMemoryError, is_whole, prompt_of
from core.agents.answers.prose import unfenced
from core.agents.bank.scan_answer import read_scan
from core.agents.memory import context_summary
from core.agents.proposals.reading import FoundChanges, read_changes, read_questions
from core.config.models.assignments import defaults_for
from core.config.models.model_config import PromptStyle
from core.domain.agent_role import AgentRole
from core.domain.bank.details import ThreadCategory, ThreadDetails
from core.domain.prompt_range import PromptRange
from core.domain.slot import Slot
from tests.core.values.sessions import delta_payload, session

MINE, CHUNK = session(names={Slot.RED: "Mara"}), PromptRange(8, 14)
GOOD = json.dumps(delta_payload())
BROKEN = GOOD.replace("{", "{ // what happened\n", 1)[:-1] + ",}"
SCHEMA = context_summary.output_schema(
    MINE, CHUNK, (), defaults_for("openai")[AgentRole.CONTEXT_SUMMARY]
).schema


def delta(text: str) -> Mapping[str, Any]:
    return context_summary.parse(text, MINE, CHUNK, 10_000, PromptStyle.FULL).payload


def changed(**changes: object) -> str:
    return json.dumps({**delta_payload(), **changes})


@pytest.mark.parametrize(
    "text",
    [
        f"Here's the {{JSON}}: {GOOD}",
        f"Here's the {{JSON}}: {BROKEN.replace('// what happened', '')}",
        f"An empty list is {{}} for me.\n```json\n{GOOD}\n```",
        f"<reasoning>They want {{memory_type: …}} with {{ }} in it.</reasoning>\n{GOOD}",
        f'First a draft: {{"memory_type": "turn_delta"}}\n\nAnd whole:\n{GOOD}',
        f'First a draft: {{"memory_type": "turn_delta"}}\n\nAnd whole:\n{BROKEN}',
        f"{json.dumps(SCHEMA)}\n\n{GOOD}",
        f"<|channel|>analysis<|message|>I need {{…}}<|end|><|channel|>final<|message|>{GOOD}<|return|>",
    ],
    ids=["braces", "braces, broken", "nothing", "thoughts", "draft", "draft, broken", "schema", "channels"],
)
def test_the_object_that_was_asked_for_is_found_behind_other_braces(text: str) -> None:
    assert delta(text) == delta(GOOD)


@pytest.mark.parametrize(
    "wrapped",
    [
        {"result": delta_payload()},
        {"items": [delta_payload()]},
        {"name": "turn_delta", "arguments": delta_payload()},
        [delta_payload()],
    ],
    ids=["result", "items", "call of a tool", "list"],
)
def test_an_object_in_a_wrapper_is_taken_out_of_it(wrapped: object) -> None:
    assert delta(json.dumps(wrapped)) == delta(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        '[{"topic": "The sea", "question": "Why?"}]',
        '```json\n[{"topic": "The sea", "question": "Why?"}]\n```',
        '{"questions": {"topic": "The sea", "question": "Why?"}}',
        '[{"questions": [{"topic": "The sea", "question": "Why?"}]}]',
        'Of the {sea}: {"questions": [{"topic": "The sea", "question": "Why?"}]} [1]',
    ],
)
def test_a_list_without_the_object_around_it_is_the_list_that_was_asked_for(text: str) -> None:
    assert read_questions(text, ["The sea"]) == {"The sea": "Why?"}


def test_an_empty_list_is_the_answer_that_nothing_changed() -> None:
    assert read_changes("[]", ()) == FoundChanges()


@pytest.mark.parametrize(
    "written",
    [
        lambda key: key.replace("_", " ").title(),
        lambda key: key.upper(),
        lambda key: f" {key} ",
        lambda key: key[0] + key.title().replace("_", "")[1:],
    ],
    ids=["words", "capitals", "spaces", "camels"],
)
def test_keys_are_known_however_they_are_written(written: Callable[[str], str]) -> None:
    def renamed(value: object) -> object:
        if isinstance(value, list):
            return [renamed(one) for one in value]
        if isinstance(value, dict):
            return {written(key): renamed(one) for key, one in value.items()}
        return value

    assert delta(json.dumps(renamed(delta_payload()))) == delta(GOOD)


def test_the_schema_alone_is_no_memory() -> None:
    with pytest.raises(InvalidMemoryError):
        delta(json.dumps(SCHEMA))


def test_null_for_a_text_or_a_list_is_an_empty_one_and_numbers_may_stand_for_text() -> None:
    event = {"event": "The bridge falls.", "cause": None, "effect": 7, "participants": None}
    made = delta(changed(canon_locks=None, major_events=[event]))
    assert made["canon_locks"] == []
    assert made["major_events"] == [
        {"event": "The bridge falls.", "cause": "", "effect": "7", "participants": []}
    ]


def test_an_answer_that_ran_on_to_its_cap_behind_a_whole_object_is_not_cut_off() -> None:
    assert is_whole(f"```json\n{GOOD}\n```\nThis object")
    assert not is_whole(GOOD[:-1])
    assert not is_whole("I cannot")


def test_a_finding_counts_whose_numbers_and_choices_are_written_as_text() -> None:
    thread = {
        "prompt": "3)",
        "words": "Who cut the rope?",
        "name": "The rope",
        "text": "It is not known who cut it.",
        "category": "goal",
        "is_closed": "true",
        "importance": "4",
        "exposure_desired": "2",
    }
    [found] = read_scan(json.dumps({"threads": [thread]}), {})
    assert (found.prompt, found.importance) == (3, 1.0)
    assert isinstance(found.details, ThreadDetails)
    assert (found.details.category, found.details.is_closed) == (ThreadCategory.GOAL, True)
    assert found.details.exposure_desired == 0.5


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("```markdown\n# The ferry\n\nIt sank.\n```", "# The ferry\n\nIt sank."),
        ("\n```\nIt sank.\n```\n", "It sank."),
        ("It sank.\n```\nSOS\n```", "It sank.\n```\nSOS\n```"),
        ("```\nSOS\n```\nIt sank.\n```\nSOS\n```", "```\nSOS\n```\nIt sank.\n```\nSOS\n```"),
    ],
)
def test_a_code_fence_is_taken_off_prose_that_is_all_within_it(text: str, prose: str) -> None:
    assert unfenced(text) == prose


@pytest.mark.parametrize(
    ("written", "number"),
    [(3, 3), (3.0, 3), ("3", 3), ("3)", 3), ("prompt 3", 3), ("3 to 5", None), ("three", None), (True, None)],
)
def test_the_number_of_a_prompt_is_known_however_it_is_written(written: object, number: int | None) -> None:
    assert prompt_of(written) == number


@pytest.mark.parametrize(("said", "does"), [("true", True), ("Yes", True), ("false", False), (1, False)])
def test_a_character_that_says_yes_in_words_speaks(said: object, does: bool) -> None:
    assert speaking.speaks(f"My {{decision}}: {json.dumps({'reason': 'I must', 'speaks': said})}") is does
