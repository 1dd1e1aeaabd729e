"""Which rules of each agent the prompts of the very small model keep: the tables in their headers."""

from dataclasses import replace
from importlib.resources import files

import pytest

from core.agents.role.prompt_file import load_prompt, parse_prompt, prompt_for, render_prompt
from core.config.models.model_config import PromptStyle
from core.domain.agent_role import AgentRole
from tests.core.agents.test_prompts import RULES, is_in_force
from tests.core.values.sessions import choice

R = AgentRole

SMALL_RULES: dict[AgentRole, dict[str, tuple[str, ...]]] = {
    R.WORLD_LOCK: {
        "gets the world and its tone": (r"sentences of WORLD_TEXT",),
        "gets the chapter and its surroundings": (r"CHAPTER_TEXT",),
        "returns one JSON object": (r"one JSON object",),
        "no prose outside JSON, no markdown": (r"Return only the JSON",),
        "preserves canon facts": (r"word for word",),
        "never invents major lore": (r"Do not invent anything",),
    },
    R.CHARACTER: {
        "is a character agent, one of up to seven": (r"You play one character",),
        "is not the GM": (r"the Game Master decides",),
        "does not control the world": (r"not whether it works: the Game Master decides",),
        "replies in the first person": (r"in the first person",),
        "does not define world or environment": (r"only people and things that the story names",),
        "interacts with what the GM defines or implies": (
            r"Use only people and things that the story names",
        ),
        "is a participant": (r"one character in a story",),
        "is consistent with identity": (r"Speak as this character",),
        "never narrates outcomes that need the GM": (r"not whether it works: the Game Master decides",),
        "phrases intent and attempt": (r"Say what I try",),
        "speaks in character": (r"Speak as this character", r"as \{name\}"),
        "one to six paragraphs unless asked for more": (r"in two short sentences",),
        "prefers action, dialogue, perception, intention": (r"says and tries to do now",),
    },
    R.CONTEXT_SUMMARY: {
        "writes a compact delta of what is new only": (r"pick what is new and important",),
        "gets the memory so far": (r"STRUCTURED_MEMORY_SO_FAR",),
        "gets the chunk since the last boundary": (r"RECENT_CONTEXT_CHUNK",),
        "returns one JSON object": (r"one JSON object",),
        "no prose outside JSON, no markdown": (r"Return only the JSON",),
        "stable facts are not restated unless changed": (r"do not repeat STRUCTURED_MEMORY_SO_FAR",),
        "never invents; the unclear goes to the questions": (r"Do not invent anything",),
    },
    R.NARRATIVE: {
        "turns memory and full transcript into a cohesive chapter": (r"turn FULL_TRANSCRIPT into a story",),
        "reads like a story and not a log": (r"into a story",),
        "third person, past tense unless overridden": (
            r"third person and the past tense",
            r"Follow NARRATIVE_AGENT_DEFINITION",
        ),
        "no agents, prompts, tabs, memory, system": (r"Do not mention the Game Master, prompts, numbers",),
        "mechanics are stripped and only inform": (r"Do not mention .* the rules of a game",),
        "no major events are invented": (r"Do not invent new events",),
        "sparse memory: nothing is hallucinated": (r"Do not invent new events",),
    },
}
"""The rules that the prompt of the very small model keeps, and what says so; the table in its header has all.

Each keeps few, since such a model follows a short text and one example, or none of it.
"""


def table_of(role: AgentRole) -> list[list[str]]:
    """The rows of the table in the header of a small prompt: rule, whether it is kept, why not."""
    source = files("core.agents").joinpath("prompts", f"{role}.small.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in source.splitlines() if line.startswith("|")]
    assert rows[1:2] == [[" --- "] * 3]
    return [[cell.strip() for cell in row] for row in rows[2:]]


@pytest.mark.parametrize("role", AgentRole)
def test_every_rule_stands_once_in_the_table_of_the_small_prompt(role: AgentRole) -> None:
    assert [row[0] for row in table_of(role)] == list(RULES[role])


@pytest.mark.parametrize("role", AgentRole)
def test_a_rule_that_the_small_prompt_does_not_keep_has_a_reason(role: AgentRole) -> None:
    for rule, kept, reason in table_of(role):
        assert (kept == "yes" and not reason) or (kept == "no" and reason.endswith(".")), rule


@pytest.mark.parametrize("role", AgentRole)
def test_a_rule_that_the_small_prompt_keeps_is_in_what_is_sent(role: AgentRole) -> None:
    assert [rule for rule, kept, _ in table_of(role) if kept == "yes"] == list(SMALL_RULES[role])
    prompt = load_prompt(role, PromptStyle.SMALL)
    for rule, patterns in SMALL_RULES[role].items():
        for pattern in patterns:
            assert is_in_force(pattern, f"{prompt.text}\n{prompt.cue}"), f"{rule}: {pattern}"


@pytest.mark.parametrize("role", AgentRole)
def test_the_table_of_a_small_prompt_is_not_sent(role: AgentRole) -> None:
    prompt = load_prompt(role, PromptStyle.SMALL)
    assert "|" not in prompt.text + prompt.cue
    assert "---" not in "".join(segment.text for segment in render_prompt(prompt))


def test_a_table_after_the_front_matter_is_no_part_of_the_prompt() -> None:
    front = "---\nagent: character\nstyle: small\nversion: 3\n---\n"
    for table in ("", "| rule | kept | why not |\n| --- | --- | --- |\n| is brave | yes | |\n---\n"):
        assert parse_prompt(f"{front}{table}Be brave.\n", R.CHARACTER, PromptStyle.SMALL).text == "Be brave."


def test_a_model_with_room_for_more_is_shown_a_longer_example_and_asked_for_as_much() -> None:
    bundled, other = (
        prompt_for(R.CHARACTER, replace(choice(style=PromptStyle.SMALL), max_output_tokens=tokens))
        for tokens in (80, 220)
    )
    assert (bundled.text, bundled.version) == (other.text, other.version)
    assert bundled.cue.endswith("in two short sentences.")
    assert other.cue.endswith("in three to five sentences.")
    assert bundled.example is not None
    assert other.example is not None
    assert [len(one.example[1].split(". ")) for one in (bundled, other) if one.example] == [2, 4]
    assert other.example[0].endswith(other.cue.replace("{name}", "Odo"))
    assert bundled.example[0].endswith(bundled.cue.replace("{name}", "Odo"))
