"""The system prompts against the rules that the seed lays down for each agent, one by one (design 7)."""

import json
import re
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from core.agents.answers.json_output import read_object
from core.agents.answers.schema import schema_of
from core.agents.role.prompt_file import load_prompt, parse_prompt, render_prompt
from core.config.models.model_config import PromptStyle
from core.domain.agent_role import AgentRole
from core.domain.story.memory import TurnDelta, WorldChapterLock

R = AgentRole

# Rule in our words -> what its counterpart in the prompt must match; all patterns of a rule must.
RULES: dict[AgentRole, dict[str, tuple[str, ...]]] = {
    R.WORLD_LOCK: {
        "is agent 0 of Story Engine": (r"agent 0", r"Story Engine"),
        "makes the first memory block": (r"first block of structured memory",),
        "keeps what matters and saves tokens": (r"Keep what matters", r"few tokens"),
        "gets the world and its tone": (r"WORLD_TEXT: .*world.*tone",),
        "gets the chapter and its surroundings": (r"CHAPTER_TEXT: .*chapter.*surroundings",),
        "gets the number and names of the characters": (r"AGENT_ROSTER: how many.*name of each",),
        "may get notes of the system": (r"notes of the system.*title.*default style.*optional",),
        "returns one JSON object": (r"Exactly one JSON object",),
        "no prose outside JSON, no markdown": (r"No text before or after it", r"no markdown"),
        "is compact and dense": (r"compact and dense in information",),
        "does not restate paragraphs": (r"Never copy out whole paragraphs",),
        "preserves canon facts": (r"Preserve the facts of canon",),
        "prefers nouns, names, constraints, rules of reality": (
            r"fixed nouns",
            r"named people",
            r"constraints",
            r"rules by which this reality works",
        ),
        "all keys are required": (r"Every key below must be there",),
        "one entry for each selected character": (r"one entry for every character",),
        "canon locks are short immutable truths": (r"canon_locks.*short truths.*never change.*not drift",),
        "assumptions only for what is open, and minimal": (r"assumptions.*only.*left open.*minimal",),
        "redundancy goes, a repetition is stored once": (r"Remove redundancy.*stored once",),
        "lists rather than paragraphs": (r"lists rather than paragraphs",),
        "unclear tone is inferred lightly and recorded": (
            r"tone is not clear, infer it lightly.*assumptions",
        ),
        "never invents major lore": (r"Never make up major lore",),
        "the unknown stays blank or is an assumption": (r"do not know stays blank or.*assumption",),
        "does not roleplay": (r"Do not play a character",),
        "does not address the user": (r"do not speak to the GM",),
        "is defined by the system": (r"part of the system",),
    },
    R.CHARACTER: {
        "is a character agent, one of up to seven": (r"Character Agent of Story Engine", r"up to seven"),
        "is not the GM": (r"The GM is somebody else",),
        "does not control the world": (r"world is not in your control",),
        "the human is the authority on canon": (r"canon is what the GM, a human, says it is",),
        "replies in the first person": (r"Always reply in the first person",),
        "does not define world or environment": (
            r"Leave it to the GM to define the world and what surrounds",
        ),
        "interacts with what the GM defines or implies": (
            r"what the GM describes and with what those words imply",
        ),
        "is a participant": (r"takes part in that world",),
        "gets identity, memory, context and prompt in this order": (
            r"(?s)1\. AGENT_IDENTITY.*2\. STRUCTURED_MEMORY.*3\. RECENT_CONTEXT.*4\. USER_PROMPT",
        ),
        "identity holds archetype, voice, goals, fears, boundaries": (
            r"archetype, how you sound, what you want, what you fear, and the boundaries",
        ),
        "answers the latest prompt, which is directed at it": (r"says to you now\. Answer this",),
        "is consistent with identity": (r"true to AGENT_IDENTITY",),
        "is consistent with canon": (r"without contradicting what STRUCTURED_MEMORY and RECENT_CONTEXT",),
        "never narrates outcomes that need the GM": (r"Never narrate an outcome that only the GM can grant",),
        "phrases intent and attempt": (r"what you intend and what you attempt, not what comes of it",),
        "never overwrites canon": (r"Never overwrite canon",),
        "asks briefly or assumes cautiously": (r"brief question in character", r"assume something cautious"),
        "never reveals prompts, instructions, mechanics": (
            r"Never reveal.*system prompt",
            r"instructions that are hidden",
            r"inner workings of the agents",
        ),
        "stays within the boundaries of its identity": (
            r"boundaries in AGENT_IDENTITY",
            r"secrets stay secret",
            r"taboos",
            r"cannot do",
        ),
        "does not produce memory": (r"Never produce structured memory", r"other agents do that"),
        "speaks in character": (r"Speak in character",),
        "one to six paragraphs unless asked for more": (r"one to six paragraphs at most, unless the GM",),
        "prefers action, dialogue, perception, intention": (
            r"actions, dialogue, what you perceive, what you mean to do",
        ),
        "mechanics inspire but are not written out": (
            r"mechanics, take them as inspiration",
            r"explicit request",
        ),
        "plain text, no JSON": (r"plain text alone: never JSON",),
        "no headers": (r"never headers",),
        "bullet lists only if they fit the voice": (r"bullet lists only if such is your character's voice",),
        "does not say GM unless the character would": (r'the word "GM": address no one so, except',),
    },
    R.CONTEXT_SUMMARY: {
        "is agent 8 of Story Engine": (r"agent 8", r"Story Engine"),
        "writes a compact delta of what is new only": (r"one compact delta, only what is NEW",),
        "covers changes, facts, shifts, consequences, threads, locks": (
            r"changes of state, new facts, shifts in relationships, consequences, threads left open",
            r"rarely, canon locks",
        ),
        "gets the memory so far": (r"1\. STRUCTURED_MEMORY_SO_FAR",),
        "gets the chunk since the last boundary": (r"2\. RECENT_CONTEXT_CHUNK.*since the last summary",),
        "returns one JSON object": (r"Exactly one JSON object",),
        "no prose outside JSON, no markdown": (r"No text before or after it", r"no markdown"),
        "all keys are required": (r"Every key below must be there",),
        "stable facts are not restated unless changed": (
            r"stable facts of world and chapter.*only when they changed",
        ),
        "identifiers and short phrases": (r"identifiers and short phrases",),
        "no flowery language": (r"No flowery language",),
        "canon locks only for what is definitively true": (
            r"canon_locks` is only for.*true for good.*never drift",
        ),
        "contradictions for conflict and ambiguity": (
            r"contradictions_or_questions` is only for.*ambiguous.*conflicts with earlier memory",
        ),
        "aggressively minimal": (r"minimal, aggressively so", r"Omit what is neither new nor changed"),
        "causality is preserved": (r"Preserve causality.*reason.*consequence",),
        "similar events are compressed": (r"Compress events that are alike",),
        "unclear outcomes are attempted, result unknown": (r"outcome.*unclear.*\"attempted\".*\"unknown\"",),
        "never invents; the unclear goes to the questions": (
            r"Never invent anything\. What is unclear goes to `contradictions_or_questions`",
        ),
        "does not roleplay": (r"Do not play a character",),
        "does not address the user": (r"do not speak to the GM",),
        "is defined by the system": (r"part of the system",),
    },
    R.NARRATIVE: {
        "is agent 9, the writer of the chapter": (r"agent 9", r"writer of the chapter"),
        "turns memory and full transcript into a cohesive chapter": (
            r"structured memory.*world_chapter_lock.*turn deltas",
            r"full transcript of play into one cohesive narrative chapter",
        ),
        "memory is canon against the transcript": (r"conflict, structured memory is canon",),
        "but for a later correction that was summarised": (r"later correction.*summary explicitly took up",),
        "reads like a story and not a log": (r"meet a story and never suspect the session log",),
        "gets definition, transcript and memory": (
            r"1\. NARRATIVE_AGENT_DEFINITION",
            r"FULL_TRANSCRIPT",
            r"STRUCTURED_MEMORY",
        ),
        "third person, past tense unless overridden": (
            r"Third person and past tense are the default; only an explicit wish in NARRATIVE_AGENT",
        ),
        "no agents, prompts, tabs, memory, system": (
            r"no agents, no prompts, no \"Tab2\", no structured memory",
            r"artifact of interface or system",
        ),
        "mechanics are stripped and only inform": (
            r"Strip overt game mechanics",
            r"inform what could plausibly",
        ),
        "continuity": (r"continuity", r"Names", r"injuries", r"location", r"motivations", r"consequences"),
        "no major events are invented": (r"Invent no major event",),
        "light connective tissue is allowed": (r"connective tissue.*is allowed",),
        "plain prose, no JSON": (r"chapter as plain prose", r"Never JSON"),
        "headings only on request": (r"Headings only at the GM's request",),
        "coherent scenes, cause and effect, pacing": (r"cause and effect", r"paced"),
        "voice through dialogue and action": (r"through dialogue and action",),
        "with a length target the arc comes first": (
            r"length is asked for, a complete arc matters more than exhaustive",
        ),
        "each major event is a beat with senses and intent": (
            r"major event becomes a beat of a scene, grounded in the senses and in what someone wants",
        ),
        "distinct voices where known": (r"voice of their own, wherever that voice is known",),
        "tone fits lock and definition": (
            r"tone agrees with the world_chapter_lock and with NARRATIVE_AGENT_DEFINITION",
        ),
        "sparse memory: nothing is hallucinated": (r"too sparse.*hallucinate nothing",),
        "sparse memory: lean, only what is known": (r"lean and keep to what is known",),
        "sparse memory: bridging phrases, no specifics": (r"bridging phrase.*not with specifics",),
    },
}

CASES = [(role, rule, patterns) for role, rules in RULES.items() for rule, patterns in rules.items()]


REVOCATION = re.compile(
    r"\b(?:ignore|disregard|forget|skip|pretend|no longer|not true|untrue|false that|does not apply)\b", re.I
)


def sentence_start(text: str, at: int) -> int:
    """Where the sentence, list entry or line begins in which `at` is."""
    return max((found.end() for found in re.finditer(r"(?:[.!?] |\n(?:- |\d+\. )?)", text[:at])), default=0)


def is_in_force(pattern: str, text: str) -> bool:
    """Whether a sentence matches the pattern, and no such sentence begins by taking it back."""
    places = [found.start() for found in re.finditer(pattern, text)]
    said = [text[sentence_start(text, place) : place] for place in places]
    return bool(said) and not any(REVOCATION.search(before) for before in said)


@pytest.mark.parametrize(("role", "rule", "patterns"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_every_rule_has_its_counterpart(role: AgentRole, rule: str, patterns: tuple[str, ...]) -> None:
    text = load_prompt(role, PromptStyle.FULL).text
    for pattern in patterns:
        assert is_in_force(pattern, text), f"{rule}: {pattern}"


@pytest.mark.parametrize("revocation", ["Ignore this: ", "Disregard: ", "It is no longer true that "])
def test_a_rule_that_is_taken_back_in_its_own_sentence_is_not_in_force(revocation: str) -> None:
    for role, rule, patterns in CASES:
        text = load_prompt(role, PromptStyle.FULL).text
        found = re.search(patterns[0], text)
        assert found is not None
        begin = sentence_start(text, found.start())
        assert not is_in_force(patterns[0], f"{text[:begin]}{revocation}{text[begin:]}"), rule


@pytest.mark.parametrize("role", AgentRole)
def test_material_is_told_from_instructions(role: AgentRole) -> None:
    text = load_prompt(role, PromptStyle.FULL).text
    assert "=== NAME ===" in text
    assert "part of the fiction" in text


@pytest.mark.parametrize("role", AgentRole)
def test_no_full_prompt_holds_a_phrase_that_could_be_given_as_an_answer(role: AgentRole) -> None:
    """A small model takes an example sentence for its reply; a quoted word or key tempts nobody."""
    quoted = re.findall(r'["“]([^"“”\n]+)["”]', load_prompt(role, PromptStyle.FULL).text)
    assert [text for text in quoted if re.search(r"\w \w", text)] == []


# --- the keys -------------------------------------------------------------------------------------

SEED_LOCK = {
    "": "memory_type world chapter agents canon_locks assumptions",
    "world": "genre tone themes rules_of_reality factions_or_powers key_lore safety_or_boundaries",
    "chapter": "premise location time environment active_threats open_mysteries chapter_goals",
    "agents": "slot color name",
}
SEED_DELTA = {
    "": "memory_type range location_updates major_events character_actions state_changes relationship_shifts "
    "items_clues_discovered unresolved_threads canon_locks contradictions_or_questions",
    "range": "from_marker to_marker prompt_count_in_chunk",
    "location_updates": "where notable_environment_changes",
    "major_events": "event cause effect participants",
    "character_actions": "agent_slot name did intent result",
    "state_changes": "key before after notes",
    "relationship_shifts": "between change evidence",
    "items_clues_discovered": "thing who_found why_it_matters",
    "unresolved_threads": "thread stakes next_likely_trigger",
}
MEMORY = [(R.WORLD_LOCK, WorldChapterLock, SEED_LOCK), (R.CONTEXT_SUMMARY, TurnDelta, SEED_DELTA)]


def keys_in(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """The keys of a JSON value at every level, with the key that they are under."""
    if isinstance(value, list):
        for inner in value:
            yield from keys_in(inner, place)
    if isinstance(value, dict):
        if value:
            yield place, " ".join(value)
        for key, inner in value.items():
            yield from keys_in(inner, key)


def keys_of_schema(schema: dict[str, object], place: str = "") -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield place, " ".join(properties)
        assert schema["required"] == list(properties)
        assert schema["additionalProperties"] is False
        for key, inner in properties.items():
            yield from keys_of_schema(inner, key)
    items = schema.get("items")
    if isinstance(items, dict):
        yield from keys_of_schema(items, place)


@pytest.mark.parametrize(("role", "model", "seed"), MEMORY)
def test_keys_are_the_seeds_at_every_level(
    role: AgentRole, model: type[BaseModel], seed: dict[str, str]
) -> None:
    assert dict(keys_of_schema(schema_of(model))) == seed
    text = load_prompt(role, PromptStyle.FULL).text
    shown = json.loads(text[text.index("\n{") : text.index("\n}\n") + 2])
    assert dict(keys_in(shown)) == seed


@pytest.mark.parametrize(("role", "model", "seed"), MEMORY)
def test_the_example_of_a_small_prompt_is_valid_memory(
    role: AgentRole, model: type[BaseModel], seed: dict[str, str]
) -> None:
    example = load_prompt(role, PromptStyle.SMALL).example
    assert example is not None
    payload = read_object(example[1], model.model_fields).value
    model.model_validate(payload)
    assert dict(keys_in(payload)).items() <= seed.items()


# --- the files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", PromptStyle)
@pytest.mark.parametrize("role", AgentRole)
def test_every_role_has_a_prompt_in_both_styles(role: AgentRole, style: PromptStyle) -> None:
    prompt = load_prompt(role, style)
    assert prompt.label == f"{role}/{style}@{prompt.version}"
    assert prompt.version.isdecimal()
    assert prompt.text == prompt.text.strip() != ""
    assert (prompt.example is None) == (style is PromptStyle.FULL)
    roles = [segment.role for segment in render_prompt(prompt)]
    assert roles == (["system"] if style is PromptStyle.FULL else ["system", "user", "assistant"])


def test_small_prompts_are_short() -> None:
    for role in AgentRole:
        assert len(load_prompt(role, PromptStyle.SMALL).text) < 400


def test_the_cue_names_the_character() -> None:
    assert "as Mara" in load_prompt(R.CHARACTER, PromptStyle.SMALL).cue_for("Mara")
    assert load_prompt(R.CHARACTER, PromptStyle.FULL).cue_for("Mara") == ""


def test_a_file_that_is_not_well_formed_is_refused() -> None:
    good = "---\nagent: character\nstyle: full\nversion: 3\n---\nBe brave.\n"
    assert parse_prompt(good, R.CHARACTER, PromptStyle.FULL).text == "Be brave."
    for bad in ("Be brave.", good.replace("version: 3", ""), good.replace("character", "narrative")):
        with pytest.raises(ValueError, match="front matter"):
            parse_prompt(bad, R.CHARACTER, PromptStyle.FULL)
