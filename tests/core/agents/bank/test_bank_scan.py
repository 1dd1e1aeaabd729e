"""What a model is asked for the memory bank, and what of its answer can be used."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.answers.json_output import InvalidMemoryError
from core.agents.bank import compare, scan, scan_answer, small_scan
from core.agents.bank.compare import Comparison, Effect, Update
from core.agents.bank.findings import CERTAIN, SAID, Finding, Source, items_of
from core.agents.bank.scan import Known, ScanPart
from core.agents.role.prompt_file import load_prompt
from core.agents.role.setup import AgentSetup
from core.config.models.assignments import defaults_for
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.visibility import Knowledge, Story, items_known_to_all_of, known_to_all_of
from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE, Audience
from core.domain.bank.details import (
    Aspect,
    FactDetails,
    ItemKind,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    StateDetails,
)
from core.domain.ids import EventId, RequestId, SessionId
from core.domain.session.language import Language
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from tests.core.values.bank import fact
from tests.core.values.sessions import delta_block

NOW = datetime(2026, 11, 25, tzinfo=UTC)
SESSION = Session(
    id=SessionId(UUID(int=1)),
    slots=(Slot.RED, Slot.ORANGE),
    names={Slot.RED: "Mira", Slot.ORANGE: "Jonas"},
    prompt_index=3,
    created_at=NOW,
    updated_at=NOW,
)
CAST = {"mira": Slot.RED, "the light": Slot.RED, "jonas": Slot.ORANGE}
KNOWN = Known(
    cast={"Mira": Slot.RED, "The Light": Slot.RED, "M.": Slot.RED, "Jonas": Slot.ORANGE},
    heard=("The Light",),
    people=("Old Tam",),
)
FULL = defaults_for("scripted")[AgentRole.CONTEXT_SUMMARY]
SMALL = replace(FULL, style=PromptStyle.SMALL, max_output_tokens=1_600)


def event(index: int, text: str, slot: Slot | None = None, ordinal: int = 0) -> Event:
    return Event(
        id=EventId(UUID(int=100 * index + ordinal)),
        session_id=SESSION.id,
        prompt_index=index,
        ordinal=ordinal,
        role=Role.USER if slot is None else Role.AGENT,
        slot=slot,
        text=text,
        created_at=NOW,
    )


EVENTS = (
    event(1, "The lamp goes out. Your hand bleeds. Where is Captain Bligh?"),
    event(1, "I, Mira, take the   “brass key” from Bligh.", Slot.RED, 1),
    event(2, "The harbour of Varn is dark."),
    event(2, "I never row again.", Slot.ORANGE, 1),
)


def knowledge(*events: Event) -> Knowledge:
    return known_to_all_of(EVERYONE, Story(SESSION, (), events))


def source(**values: Any) -> Source:
    fields: dict[str, Any] = {
        "session_id": SESSION.id,
        "request_id": RequestId(UUID(int=5)),
        "label": EVERYONE,
        "events": EVENTS,
        "prompt_index": 3,
        "take": 2,
        "names": dict(SESSION.roster),
        "other_names": ("The Light",),
    }
    return Source(**(fields | values))


def finding(**values: Any) -> Finding:
    fields: dict[str, Any] = {
        "details": FactDetails(),
        "name": "The key",
        "text": "Mira has it.",
        "words": "brass key",
        "prompt": 1,
    }
    return Finding(**(fields | values))


def entry(**values: object) -> dict[str, object]:
    return {"prompt": 1, "words": "brass key", "name": "The key", "text": "Mira has it.", **values}


def test_what_is_proved_becomes_an_item_that_belongs_to_its_chunk() -> None:
    label = Audience.of((Slot.RED,))
    [item], unproved = items_of([finding()], source(label=label), NOW)
    [proof] = item.evidence
    assert not unproved
    assert (item.prompt_index, item.take, item.label, item.confidence) == (3, 2, label, SAID)
    assert (proof.prompt_index, proof.take, proof.ordinal) == (1, 1, 1)
    assert EVENTS[1].text[proof.start : proof.end] == proof.words == "brass key"


@pytest.mark.parametrize("words", ["silver key", "ey", "", "brass key " * 80, "rass key"])
def test_what_is_not_in_the_event_is_no_item(words: str) -> None:
    items, unproved = items_of([finding(words=words)], source(), NOW)
    assert not items
    assert len(unproved) == 1


def test_what_the_gm_tells_is_certain_and_what_a_character_says_is_said() -> None:
    told = finding(words="The lamp goes out")
    assert [one.confidence for one in items_of([told, finding()], source(), NOW)[0]] == [CERTAIN, SAID]


def test_a_quote_has_the_words_of_the_event_and_its_speaker() -> None:
    quote = finding(details=QuoteDetails(speaker="Bligh"), words="i never row again", prompt=2)
    assert not items_of([quote], source(), NOW)[0]
    [item], _ = items_of([replace(quote, words='"I never row again."')], source(), NOW)
    assert (item.text, item.about) == ("I never row again", Slot.ORANGE)
    assert item.details == QuoteDetails(speaker="Jonas")


def test_no_one_of_the_cast_is_a_person_by_any_of_its_names() -> None:
    people = [finding(details=PersonDetails(), name=name) for name in ("MIRA", "the light", "Bligh")]
    items, unproved = items_of(people, source(), NOW)
    assert [one.name for one in items] == ["Bligh"]
    assert not unproved


def test_a_person_or_place_has_no_name_that_neither_play_nor_the_world_has() -> None:
    names = ("Captain Bligh Brandt", "Brandt", "King Oran", "Mira Brandt", "Old Captain")
    people = [finding(details=PersonDetails(), name=name) for name in names]
    place = finding(details=PlaceDetails(), name="Harbour of Utopia")
    known = source(definitions=("King Oran rules.",))
    items, unproved = items_of([*people, place], known, NOW)
    assert [one.name for one in items] == ["Captain Bligh", "King Oran", "Captain", "Harbour"]
    lost = [
        "Captain Bligh Brandt (its name)",
        "Brandt",
        "Old Captain (its name)",
        "Harbour of Utopia (its name)",
    ]
    assert [one.name for one in unproved] == lost
    [item], _ = items_of([place], source(language=Language.GERMAN), NOW)
    assert item.name == place.name


def test_a_mood_passes_and_a_wound_stays() -> None:
    states = [
        finding(details=StateDetails(aspect=aspect), about=Slot.RED) for aspect in (Aspect.MOOD, Aspect.WOUND)
    ]
    assert [one.expires_at for one in items_of(states, source(), NOW)[0]] == [23, None]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    *("prompt", "words", "name", "text", "who", "aspect", "category", "importance", "participants", "kind"),
    *("attributes", "relationships", "value", "relation", "target", "exposure_desired", "minutes", "worked"),
    *("steps", "prerequisites", "outcomes", "strength", "sentiment"),
)
ENTRIES = st.lists(st.dictionaries(st.sampled_from(KEYS), JSON) | JSON, max_size=4)
LISTS = ("events", "facts", "people", "places", "threads", "quotes", "traits", "states", "items", "names")


@given(st.dictionaries(st.sampled_from(LISTS), ENTRIES | JSON))
def test_no_answer_makes_an_item_without_words_of_an_event(answer: dict[str, object]) -> None:
    part = ScanPart(EVENTS)
    found: list[Finding] = []
    with suppress(InvalidMemoryError):
        found += scan_answer.read_scan(json.dumps(answer), CAST)
    with suppress(InvalidMemoryError):
        found += small_scan.read_small_scan(json.dumps(answer), part, KNOWN)
    for item in items_of(found, source(), NOW)[0]:
        [proof] = item.evidence
        texts = {(one.prompt_index, one.ordinal): one.text for one in EVENTS}
        assert texts[proof.prompt_index, proof.ordinal][proof.start : proof.end] == proof.words


def test_the_schema_lets_a_model_name_only_prompts_and_characters_that_are_there() -> None:
    schema = scan_answer.scan_schema(SESSION, EVENTS)
    states = schema["properties"]["states"]["items"]["properties"]
    assert states["prompt"]["enum"] == [1, 2]
    assert states["who"]["enum"] == ["Mira", "Jonas"]


def scanned(setup_choice: ModelConfig, events: tuple[Event, ...], context: tuple[Event, ...] = ()) -> str:
    setup = AgentSetup.for_task(setup_choice, scan.SCAN)
    part = ScanPart(events, context)
    made = scan.scan_context(setup, knowledge(*context, *events), part, KNOWN)
    return made.messages[-1].content


def test_what_is_analysed_is_apart_from_what_is_given_to_understand_it() -> None:
    text = scanned(FULL, EVENTS[2:], EVENTS[:2])
    before, _, analysed = text.partition("=== RECENT_CONTEXT_CHUNK ===")
    assert "1) The lamp goes out." in before
    assert "2) The harbour of Varn is dark." in analysed
    assert "The lamp" not in analysed
    assert "- Mira (also The Light)\n- Jonas\nOther people:\n- Old Tam" in before


def test_a_chunk_that_is_too_long_is_read_in_parts_and_nothing_of_it_is_lost() -> None:
    events = tuple(event(index, f"Prompt {index}. " + "And then it rains. " * 60) for index in range(1, 8))
    tight = replace(FULL, max_input_tokens=3_500)
    setup = AgentSetup.for_task(tight, scan.SCAN)
    parts = scan.parts_of(setup, knowledge(*events), events, KNOWN)
    assert len(parts) > 1
    assert [one for part in parts for one in part.analyse] == list(events)
    for part in parts:
        made = scan.scan_context(setup, knowledge(*events), part, KNOWN)
        assert made.tokens <= tight.max_input_tokens
        assert not made.left_out
        assert all(one.place <= part.analyse[-1].place for one in part.context)


def test_what_is_analysed_is_read_whole_however_many_canon_locks_there_are() -> None:
    events = tuple(event(index, f"Prompt {index}. " + "And then it rains. " * 60) for index in range(1, 15))
    blocks = [delta_block(number, [f"Tower {number} fell to the old king. " * 4]) for number in range(1, 24)]
    tight = replace(FULL, max_input_tokens=3_500)
    setup = AgentSetup.for_task(tight, scan.SCAN)
    known = known_to_all_of(EVERYONE, Story(SESSION, blocks, events))
    parts = scan.parts_of(setup, known, events[7:], KNOWN)
    assert [one for part in parts for one in part.analyse] == list(events[7:])
    for part in parts:
        made = scan.scan_context(setup, known, part, KNOWN)
        assert made.tokens <= tight.max_input_tokens
        assert made.left_out == ("Details of prompts 1–161 (their canon locks are kept)",)


def test_one_prompt_that_is_too_long_is_shortened_and_the_call_says_so() -> None:
    long = (event(1, "And then it rains. " * 2_000),)
    tight = replace(FULL, max_input_tokens=3_500)
    made = scan.scan_context(AgentSetup.for_task(tight, scan.SCAN), knowledge(*long), ScanPart(long), KNOWN)
    assert made.tokens <= tight.max_input_tokens
    assert made.left_out


def test_a_very_small_model_picks_clauses_of_the_part_itself() -> None:
    setup = AgentSetup.for_task(SMALL, scan.SCAN)
    happened, said, named = small_scan.contexts_of(setup, knowledge(*EVENTS), ScanPart(EVENTS), KNOWN)
    assert happened.schema is not None
    assert named.schema is not None
    assert said.schema is not None
    told = json.dumps(happened.schema.schema)
    assert "Where is" not in told
    assert "The lamp goes out." in told
    assert "Your hand bleeds." in told
    assert "I never row again." in json.dumps(said.schema.schema)
    assert "I never row again." not in told
    assert "Captain Bligh" in json.dumps(named.schema.schema)
    assert "Mira" not in json.dumps(named.schema.schema)
    answer = {
        "items": [{"kind": "event", "words": "The lamp goes out."}],
        "states": [{"words": "Your hand bleeds."}, {"words": "I never row again."}],
        "quotes": [{"words": "I never row again."}],
        "threads": [{"words": "Where is Captain Bligh?"}],
        "names": [{"name": "Captain Bligh", "what": "person"}, {"name": "Varn", "what": "neither"}],
    }
    found = small_scan.read_small_scan(json.dumps(answer), ScanPart(EVENTS), KNOWN)
    items, unproved = items_of(found, source(), NOW)
    assert not unproved
    assert [(one.kind, one.name) for one in items] == [
        (ItemKind.EVENT, "The lamp goes out"),
        (ItemKind.STATE, "Your hand bleeds"),
        (ItemKind.QUOTE, "I never row again"),
        (ItemKind.THREAD, "Where is Captain Bligh?"),
        (ItemKind.PERSON, "Captain Bligh"),
    ]
    assert items[1].about is Slot.RED


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Вчера Анна пошла в дом Петра.", ["Анна", "Петра"]),
        ("Στον πύργο ο Οδυσσέας μένει.", ["Οδυσσέας"]),
        ("Wczoraj Kara śpi obok Łukasza.", ["Kara", "Łukasza"]),
        ("Then Kara Vale came to Žofie.", ["Kara Vale", "Žofie"]),
        ("昨天 Kara 走进了门。", ["Kara"]),
        (
            "The sea, I'm sure, and I’ll swear that I've seen O'Brien and D’Arcy Quill I'd know.",
            ["O'Brien", "D’Arcy Quill"],
        ),
    ],
)
def test_a_name_of_a_script_with_capitals_is_told_from_the_words_beside_it(
    text: str, names: list[str]
) -> None:
    assert list(small_scan.unknown_names([event(1, text)], KNOWN)) == names


def test_a_part_without_names_or_words_asks_no_more_than_it_must() -> None:
    setup = AgentSetup.for_task(SMALL, scan.SCAN)
    quiet = (event(1, "It rains."), event(1, "…", Slot.RED, 1))
    assert len(list(small_scan.contexts_of(setup, knowledge(*quiet), ScanPart(quiet), KNOWN))) == 1
    silent = (event(1, "…"),)
    assert not list(small_scan.contexts_of(setup, knowledge(*silent), ScanPart(silent), KNOWN))


def question(number: int = 1, count: int = 2) -> Comparison:
    known = [fact(10 * number + one, name=f"Old {one}", text="An older text.") for one in range(count)]
    return Comparison(fact(number, name="New"), items_known_to_all_of(EVERYONE, known))


def test_what_may_be_the_same_is_asked_by_letters() -> None:
    setup = AgentSetup.for_task(FULL, compare.MATCH)
    asked = [question(1), question(2, 1)]
    made = compare.match_context(setup, asked)
    assert "1. NEW [fact] New: Kara hid the brass key.\n   a. [fact] Old 0: An older text." in (
        made.messages[-1].content
    )
    assert made.schema is not None
    schema = made.schema.schema["properties"]
    assert schema["n1"]["enum"] == ["a", "b", "none"]  # type: ignore[index]  # JSON
    assert schema["n2"]["enum"] == ["a", "none"]  # type: ignore[index]  # JSON
    assert compare.read_match('{"n1": "b", "n2": "b"}', asked) == [asked[0].known[1], None]
    assert compare.read_match('{"n2": "a"}', asked) == [None, asked[1].known[0]]
    for written in ("B", "b.", "(b)", "b. [fact] Old 1: An older text."):
        assert compare.read_match(json.dumps({"n1": written}), asked) == [asked[0].known[1], None]
    assert compare.read_match('{"n1": null, "n2": null}', asked) == [None, None]
    with pytest.raises(InvalidMemoryError):
        compare.read_match('{"1": "a"}', asked)


def test_what_changes_is_asked_with_a_text_but_of_a_very_small_model() -> None:
    asked = [question(1, 1), question(2, 1), question(3, 1)]
    for choice, has_text in ((FULL, True), (SMALL, False)):
        made = compare.update_context(AgentSetup.for_task(choice, compare.UPDATE), asked)
        assert made.schema is not None
        assert ("maxLength" in json.dumps(made.schema.schema)) is has_text
    answer = json.dumps(
        {
            "n1": {"change": "Adds", "text": "Both."},
            "n2": {"change": "odd"},
            "n3": {"change": "contradicts", "text": "\u200b"},
        }
    )
    assert compare.read_update(answer, asked) == [
        Update(Effect.ADDS, "Both."),
        Update(Effect.NONE, asked[1].new.text),
        Update(Effect.CONTRADICTS, asked[2].new.text),
    ]
    with pytest.raises(InvalidMemoryError):
        compare.read_update('{"n1": "adds"}', asked)


def test_as_many_questions_are_asked_at_once_as_fit() -> None:
    asked = [question(number) for number in range(1, 31)]
    assert compare.as_many_as_fit(AgentSetup.for_task(FULL, compare.MATCH), asked) == compare.MOST_ASKED
    tight = AgentSetup.for_task(replace(FULL, max_input_tokens=700), compare.MATCH)
    few = compare.as_many_as_fit(tight, asked)
    assert 1 <= few < compare.MOST_ASKED
    assert compare.match_context(tight, asked[:few]).tokens <= 700


@pytest.mark.parametrize("name", [scan.SCAN, compare.MATCH, compare.UPDATE])
def test_the_example_of_a_small_prompt_can_be_read(name: str) -> None:
    example = load_prompt(name, PromptStyle.SMALL).example
    assert example is not None
    if name == scan.SCAN:
        events = (event(1, example[0]), event(1, "I swear.", Slot.RED, 1))
        found = small_scan.read_small_scan(example[1], ScanPart(events), KNOWN)
        assert [one.details.kind for one in found] == [ItemKind.EVENT, ItemKind.STATE]
        assert len(items_of(found, source(events=events), NOW)[0]) == 2
    elif name == compare.MATCH:
        asked = [question(1)]
        assert compare.read_match(example[1], asked) == [asked[0].known[0]]
    else:
        assert compare.read_update(example[1], [question(1, 1)])[0].change is Effect.CONTRADICTS
