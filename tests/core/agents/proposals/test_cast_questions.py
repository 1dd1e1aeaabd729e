"""What a model is asked about a character of the library, and what of its answers is read."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.answers.json_output import InvalidMemoryError
from core.agents.proposals import asking
from core.agents.proposals.asking import About, Question, Sheet
from core.agents.proposals.reading import event_of, read_changes, read_gaps, read_questions
from core.agents.role.prompt_file import load_prompt
from core.config.models.assignments import defaults_for
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context
from core.context.visibility import CharacterKnowledge, Story, known_to
from core.domain.agent_role import AgentRole
from core.domain.session.cast import Character
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.text.delimiters import SegmentName
from tests.core.values.sessions import event, memory, play, session

SHEET = Sheet(
    name="Mira",
    text="Name: Mira\nDescription:\nMira keeps the lamp.",
    has_short_description=False,
    traits=("Patient",),
    topics=("The sea", "Oil", "Bread"),
)


def choice(style: PromptStyle = PromptStyle.FULL, room: int | None = None) -> ModelConfig:
    provider = "local" if style is PromptStyle.SMALL else "openai"
    made = defaults_for(provider)[AgentRole.CONTEXT_SUMMARY]  # type: ignore[arg-type]
    return made if room is None else replace(made, max_input_tokens=room)


def knowledge(events: list[Event], deltas: int = 1) -> CharacterKnowledge:
    last = events[-1].prompt_index
    mine = session(prompts=last, boundary=last, names={Slot.RED: "The Keeper [/x]"})
    return known_to(Character(slot=Slot.RED, given_name="Mira"), Story(mine, memory(deltas), events))


def named(made: Context) -> dict[SegmentName, str]:
    return {segment.name: segment.text for segment in made.segments}


def keys_of(made: Context, *path: str) -> set[str]:
    assert made.schema is not None
    node = json.loads(json.dumps(made.schema.schema))
    for step in path:
        node = node["properties"][step]["items"]
    return set(node["properties"])


@pytest.mark.parametrize("style", PromptStyle)
@pytest.mark.parametrize("question", Question)
def test_each_question_has_a_prompt_for_each_kind_of_model(question: Question, style: PromptStyle) -> None:
    prompt = load_prompt(question, style)
    assert prompt.text
    assert (prompt.example is not None) is (style is PromptStyle.SMALL)
    if prompt.example:
        given_, answer = prompt.example
        assert json.loads(answer)
        assert "=== TASK ===" in given_


@pytest.mark.parametrize("style", PromptStyle)
def test_gaps_are_asked_for_by_what_is_missing_and_nothing_else(style: PromptStyle) -> None:
    made = asking.gaps(choice(style), SHEET)
    assert "Propose for Mira: a short description, 2 traits." in named(made)[SegmentName.TASK]
    assert "Mira keeps the lamp." in named(made)[SegmentName.AGENT_IDENTITY]
    assert keys_of(made) == {"short_description", "traits"}
    assert (made.agent_id, made.prompt_version) == (8, f"gaps/{style}@1")
    full = replace(SHEET, has_short_description=True, traits=("a", "b"), topics=())
    assert keys_of(asking.gaps(choice(style), full)) == {"traits", "topics"}
    assert not replace(full, traits=("a", "b", "c"), topics=("a", "b", "c")).has_gaps


def test_what_a_chapter_changed_is_asked_with_what_the_character_knows_and_its_name_there() -> None:
    made = asking.changes(choice(), SHEET, knowledge(play(1, 7)))
    parts = named(made)
    assert list(parts) == [
        SegmentName.SYSTEM_PROMPT,
        SegmentName.AGENT_IDENTITY,
        SegmentName.STRUCTURED_MEMORY,
        SegmentName.FULL_TRANSCRIPT,
        SegmentName.TASK,
    ]
    assert "7) gm7w0" in parts[SegmentName.FULL_TRANSCRIPT]
    assert "The chapter calls this character The Keeper [/x]." in parts[SegmentName.TASK]
    assert {"prompt", "quote", "about", "name", "text", "value", "why"} == keys_of(made, "changes")
    assert not made.left_out


def test_a_small_model_quotes_one_of_the_clauses_that_it_was_given_and_no_number() -> None:
    events = [event(1, "The rope tears. The ferry sinks."), event(1, "I swear it.", Slot.RED)]
    made = asking.changes(choice(PromptStyle.SMALL), SHEET, knowledge(events))
    assert made.schema is not None
    entry = json.loads(json.dumps(made.schema.schema))["properties"]["changes"]["items"]["properties"]
    assert entry["quote"]["enum"] == ["The rope tears.", "The ferry sinks.", "I swear it."]
    assert "prompt" not in entry


@pytest.mark.parametrize("style", PromptStyle)
def test_over_budget_memory_and_transcript_shrink_and_it_is_said(style: PromptStyle) -> None:
    events = play(1, 140, words=60)
    made = asking.changes(choice(style, room=6_000), SHEET, knowledge(events, deltas=20))
    assert made.tokens <= 6_000
    assert made.left_out
    assert not any("not yet in memory" in line for line in made.left_out)
    long = replace(SHEET, text="Mira keeps the lamp. " * 20_000)
    made = asking.gaps(choice(style, room=6_000), long)
    assert made.tokens <= 6_000
    assert made.left_out == ("The middle of the description (no room)",)


EVENTS = (
    event(1, "The sea took   her “brother”."),
    event(1, "I never row again.", Slot.RED),
    event(2, "Yes."),
)


@pytest.mark.parametrize(
    ("quote", "prompt", "found"),
    [
        ("took her 'brother'", 1, EVENTS[0]),
        ('The sea took her "brother".', None, EVENTS[0]),
        ("I never\nrow", 1, EVENTS[1]),
        ("I never row", 2, None),
        ("took his brother", 1, None),
        ("her brother", 1, None),
        ("Yes.", 2, EVENTS[2]),
        ("Yes", 2, None),
        ("", 1, None),
        ("“”", None, None),
    ],
)
def test_a_quote_is_found_apart_from_white_space_and_quotation_marks(
    quote: str, prompt: int | None, found: Event | None
) -> None:
    assert event_of(quote, prompt, EVENTS) == found


def test_a_quote_is_found_whichever_dash_a_model_writes_and_its_prompt_and_part_in_any_form() -> None:
    told = event(3, "She opens the half‑open lid — slowly.")
    assert event_of("the half-open lid - slowly", 3, [told]) == told
    entry = {"prompt": "3)", "quote": told.text, "about": "Trait", "text": "Is wary.", "value": "0.5"}
    [change] = read_changes(json.dumps({"changes": [entry]}), [told]).changes
    assert (change.prompt_index, change.about, change.value) == (3, "trait", 0.5)


def test_equal_changes_are_read_once_and_unfounded_ones_are_counted() -> None:
    entry = {"prompt": 1, "quote": "I never row again", "about": "identity", "text": "She rows no more."}
    made = read_changes(
        json.dumps({"changes": [entry, {**entry, "text": "she rows  no more."}, {**entry, "prompt": 2}]}),
        EVENTS,
    )
    assert [one.about for one in made.changes] == [About.IDENTITY]
    assert made.unfounded == 1
    assert read_changes('{"changes": []}', EVENTS).changes == ()


@pytest.mark.parametrize("text", ["", "no", "[3]", "{}", '{"changes": 3}', '{"changes": ["x"]}'])
def test_what_is_not_a_list_of_changes_is_refused(text: str) -> None:
    with pytest.raises(InvalidMemoryError):
        read_changes(text, EVENTS)


def test_gaps_without_anything_that_is_missing_are_refused() -> None:
    for payload in ({}, {"traits": [{"name": "patient"}]}, {"topics": [{"name": "Wind"}]}, {"traits": 1}):
        with pytest.raises(InvalidMemoryError):
            read_gaps(json.dumps(payload), SHEET)


def test_each_topic_gets_one_question_and_no_other_topic_any() -> None:
    payload = {
        "questions": [
            {"topic": "OIL", "question": "Who brings it?"},
            {"topic": "Oil", "question": "Again?"},
            {"topic": "Kites", "question": "Why?"},
        ]
    }
    assert read_questions(json.dumps(payload), ("The sea", "Oil")) == {"Oil": "Who brings it?"}
    with pytest.raises(InvalidMemoryError):
        read_questions(json.dumps({"questions": [{"topic": "Kites", "question": "Why?"}]}), ("Oil",))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["1e999", 10**400, "\x1b[31mred", "I never row again", "identity", "trait"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("prompt", "quote", "about", "name", "text", "value", "why", "topic", "question", "description")
ENTRY = st.dictionaries(st.sampled_from(KEYS), VALUES)
ANSWER = st.dictionaries(
    st.sampled_from(["changes", "traits", "topics", "questions", "short_description"]),
    st.lists(ENTRY | VALUES, max_size=4) | VALUES,
)


@given(ANSWER)
def test_whatever_a_model_answers_is_read_within_its_bounds_or_refused(answer: dict[str, object]) -> None:
    text = json.dumps(answer)
    texts: list[str] = []
    with suppress(InvalidMemoryError):
        texts += [value for one in read_changes(text, EVENTS).changes for value in (one.text, one.why)]
    with suppress(InvalidMemoryError):
        texts += read_questions(text, SHEET.topics).values()
    with suppress(InvalidMemoryError):
        texts += [str(value) for one in read_gaps(text, SHEET).traits for value in one.values()]
    for one in texts:
        assert len(one) <= asking.LONGEST_TEXT
        assert "\x1b" not in one
