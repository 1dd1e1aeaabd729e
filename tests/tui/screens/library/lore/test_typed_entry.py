"""Fields that show an entry leave it as it is, and what is typed changes what it says alone."""

import json
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.lore.book import Logic, LoreEntry, Position
from storyengine_tui.screens.library.lore.typed_entry import (
    UNUSED,
    KeptEntry,
    TypedEntry,
    from_json,
    mark_of,
    to_json,
)
from tests.core.library.lore.test_lore_edits import FIELDS

ENTRIES = st.fixed_dictionaries(FIELDS).map(lambda values: LoreEntry(uid="7", **values))
LAMP = LoreEntry(uid="7", name="Lamp", keys=("lamp",), content="Old.")


def with_(typed: TypedEntry, field: str, value: Any) -> TypedEntry:
    return typed.with_values({field: value})


@given(ENTRIES)
def test_fields_that_are_not_touched_change_nothing(entry: LoreEntry) -> None:
    assert TypedEntry.of(entry).put_into(entry) == (entry, "")


@given(ENTRIES, ENTRIES)
def test_the_fields_of_an_entry_make_another_one_the_same_in_what_is_shown(
    one: LoreEntry, other: LoreEntry
) -> None:
    made, problem = TypedEntry.of(one).put_into(other)
    assert problem == ""
    assert TypedEntry.of(made) == TypedEntry.of(one)


@pytest.mark.parametrize(
    ("field", "value", "attributes"),
    [
        ("name", " The  lamp ", {"name": "The lamp"}),
        ("keys", "a, /b,c/i", {"keys": ("a", "/b,c/i")}),
        ("secondary", "oil", {"secondary": ("oil",)}),
        ("logic", UNUSED, {"is_selective": False}),
        ("logic", Logic.AND_ALL.name, {"logic": Logic.AND_ALL}),
        ("is_enabled", False, {"is_enabled": False}),
        ("order", "-12", {"order": -12}),
        ("probability", "37.5", {"probability": 37.5}),
        ("probability", "", {"uses_probability": False}),
        ("position", Position.AT_DEPTH.name, {"position": Position.AT_DEPTH}),
        ("scan_depth", "3", {"scan_depth": 3}),
        ("case_sensitive", "no", {"case_sensitive": False}),
        ("whole_words", "yes", {"whole_words": True}),
        ("groups", "sea,  the land,", {"groups": ("sea", "the land")}),
        ("outlet", " the  gate ", {"outlet": "the gate"}),
        ("ignores_budget", True, {"ignores_budget": True}),
        ("is_group_override", True, {"is_group_override": True}),
        ("group_scoring", "yes", {"group_scoring": True}),
        ("filter_names", 'Kara, "Crew, old"', {"filter_names": ("Kara", "Crew, old")}),
        ("filter_tags", "sea", {"filter_tags": ("sea",)}),
        ("filter_excludes", True, {"filter_excludes": True}),
        ("triggers", "normal, swipe", {"triggers": ("normal", "swipe")}),
        ("matches_scenario", True, {"matches_scenario": True}),
        ("delay_until_recursion", "2", {"delay_until_recursion": 2}),
    ],
)
def test_a_field_changes_what_it_says(field: str, value: Any, attributes: dict[str, Any]) -> None:
    made, problem = with_(TypedEntry.of(LAMP), field, value).put_into(LAMP)
    assert (made, problem) == (replace(LAMP, **attributes), "")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("order", "1.5"),
        ("order", "²"),
        ("depth", "1001"),
        ("sticky", "1000001"),
        ("cooldown", "-"),
        ("probability", "100.1"),
        ("probability", "1e2"),
        ("probability", "nan"),
        ("keys", ",".join(f"k{number}" for number in range(1_001))),
    ],
)
def test_what_is_out_of_bounds_is_said_and_the_other_fields_are_taken(field: str, value: str) -> None:
    typed = TypedEntry.of(LAMP).with_values({field: value, "name": "Light"})
    made, problem = typed.put_into(LAMP)
    assert made == replace(LAMP, name="Light")
    assert problem


@given(ENTRIES, st.text(max_size=5))
def test_fields_that_are_kept_are_read_again(entry: LoreEntry, uid: str) -> None:
    kept = [KeptEntry(uid, mark_of(entry), TypedEntry.of(entry)), KeptEntry("", "", TypedEntry.of(LAMP))]
    assert from_json(to_json(kept)) == kept


def test_the_one_entry_that_an_earlier_version_kept_is_read() -> None:
    kept = json.dumps({"uid": "7", **asdict(TypedEntry.of(LAMP))})
    assert from_json(kept) == [KeptEntry("7", "", TypedEntry.of(LAMP))]


@pytest.mark.parametrize(
    "change",
    [{"uid": 1}, {"before": None}, {"name": None}, {"is_enabled": "x"}, {"logic": "x"}, {"more": ""}],
)
def test_a_kept_text_that_says_something_else_is_not_taken(change: dict[str, Any]) -> None:
    value = {"uid": "7", "before": "", **asdict(TypedEntry.of(LAMP)), **change}
    assert not from_json(json.dumps([value]))
    assert not from_json(json.dumps(value))


@given(st.text())
def test_any_other_text_is_not_taken(text: str) -> None:
    assert not from_json(text)


def test_every_field_that_is_shown_is_tried() -> None:
    shown = {field.name for field in fields(TypedEntry)} - {"logic"}
    assert shown - FIELDS.keys() == set()
