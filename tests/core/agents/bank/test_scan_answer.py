"""What of an answer about a part of play can be used."""

import json

import pytest

from core.agents.answers.json_output import InvalidMemoryError
from core.agents.bank import scan_answer
from core.domain.bank.details import (
    Aspect,
    Attribute,
    EventDetails,
    FactDetails,
    ItemKind,
    PersonDetails,
    Relationship,
    StateDetails,
    ThreadCategory,
    ThreadDetails,
    TraitDetails,
)
from core.domain.slot import Slot
from tests.core.agents.bank.test_bank_scan import CAST, entry


def test_an_answer_is_read_list_by_list_within_bounds() -> None:
    answer = {
        "facts": [entry(importance=99), entry(prompt="one"), entry(words=""), entry(name=""), "no", None],
        "threads": [entry(category="Plan", stakes="All", is_closed=True), entry(category="Nonsense")],
        "states": [entry(who="the light", aspect="wound", is_over=True), entry(who="Bligh", aspect="wound")],
        "traits": [entry(who="Jonas", strength=4)],
        "events": [entry(participants=["Mira", 7, "x" * 500], context="At dusk.", outcome="Lost.")],
        "places": [entry(sentiment=one) for one in (-2, 1, 99, "two", True)],
        "people": "none",
    }
    found = scan_answer.read_scan(json.dumps(answer), CAST)
    facts = [one for one in found if one.details.kind is ItemKind.FACT]
    assert [(one.name, one.importance) for one in facts] == [("The key", 1.0), ("Mira has it", 0.5)]
    threads = [one.details for one in found if one.details.kind is ItemKind.THREAD]
    assert threads == [
        ThreadDetails(category=ThreadCategory.PLAN, stakes="All", is_closed=True),
        ThreadDetails(category=ThreadCategory.CONCERN),
    ]
    [state] = [one for one in found if one.details.kind is ItemKind.STATE]
    assert (state.about, state.details) == (Slot.RED, StateDetails(aspect=Aspect.WOUND, is_over=True))
    [trait] = [one for one in found if one.details.kind is ItemKind.TRAIT]
    assert trait.about is Slot.ORANGE
    [event] = [one.details for one in found if isinstance(one.details, EventDetails)]
    assert (event.context, event.outcome) == ("At dusk.", "Lost.")
    places = [one for one in found if one.details.kind is ItemKind.PLACE]
    assert [one.sentiment for one in places] == [-1.0, 0.5, 1.0, 0.0, 0.0]


def test_the_name_of_an_item_has_no_half_of_a_pair_of_quotation_marks() -> None:
    answer = {
        "facts": [entry(name="” I say it"), entry(name="The “Salt” road"), entry(name="“")],
        "quotes": [entry(name="", words="“The door of brass is shut and stays so,” she says.")],
    }
    found = scan_answer.read_scan(json.dumps(answer), CAST)
    names = ["I say it", "The “Salt” road", "Mira has it", "The door of brass is shut and stays"]
    assert [one.name for one in found] == names


def test_what_else_an_answer_says_of_an_item_is_read_within_bounds() -> None:
    pairs = [{"name": "age", "value": "sixty"}, {"name": "", "value": "x"}, {"name": "x", "value": 7}, "no"]
    ties = [{"relation": "sister of", "target": "Mira"}, {"relation": "of"}]
    answer = {
        "people": [
            entry(attributes=pairs * 9, relationships=ties, exposure_desired=one) for one in (3, 9, "much")
        ],
        "facts": [entry(attributes="age", relationships={"relation": "of"})],
        "events": [entry(minutes=one) for one in (90, 0, -1, True, 1e300, None)],
        "traits": [
            entry(who="Mira", steps=["Look.", 7, "", "x" * 999], worked=one, minutes=1)
            for one in ("yes", "no", "partly", "", "perhaps", True)
        ],
    }
    found = [one.details for one in scan_answer.read_scan(json.dumps(answer), CAST)]
    people = [one for one in found if isinstance(one, PersonDetails)]
    assert people[0] == PersonDetails(
        attributes=(Attribute(name="age", value="sixty"),),
        relationships=(Relationship(relation="sister of", target="Mira"),),
        exposure_desired=0.75,
    )
    assert [one.exposure_desired for one in people] == [0.75, 1.0, None]
    assert [one for one in found if isinstance(one, FactDetails)] == [FactDetails()]
    times = [one.duration_ms for one in found if isinstance(one, EventDetails)]
    assert times == [5_400_000, None, None, None, None, None]
    skills = [one for one in found if isinstance(one, TraitDetails)]
    assert [one.performance and one.performance.success_rate for one in skills] == [1.0, 0.0, 0.5] + 3 * [
        None
    ]
    assert skills[0].steps[0] == "Look."
    assert [len(step) for step in skills[0].steps] == [5, 120]


def test_an_answer_without_any_list_is_shown_to_its_author() -> None:
    for text in ("No.", "{}", '{"facts": {}}', "[1]", '{"facts": ["Mira has it."], "events": []}'):
        with pytest.raises(InvalidMemoryError):
            scan_answer.read_scan(text, CAST)
