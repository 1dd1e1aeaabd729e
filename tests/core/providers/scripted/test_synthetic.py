"""What is made up without a model satisfies every schema that may be asked for."""

from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types

from core.providers.scripted.synthetic import json_from_schema

SOURCE = "The door opens. Mira waits."
TEXT = {"type": "string"}


def made(schema: dict[str, Any], **more: bool) -> object:
    value = json_from_schema(schema, SOURCE, **more)
    Draft202012Validator(schema).validate(value)
    return value


@pytest.mark.parametrize(
    ("bounds", "number"),
    [
        ({}, 1),
        ({"minimum": 0}, 0),
        ({"minimum": 5}, 5),
        ({"exclusiveMinimum": 5}, 6),
        ({"minimum": 5, "maximum": 9}, 5),
        ({"maximum": 9}, 1),
        ({"maximum": 1}, 1),
        ({"maximum": 0}, 0),
        ({"exclusiveMaximum": 9}, 1),
        ({"exclusiveMaximum": 2}, 1),
        ({"exclusiveMaximum": 1}, 0),
    ],
)
def test_a_number_is_one_or_the_nearest_that_its_bounds_allow(bounds: dict[str, int], number: int) -> None:
    assert made({"type": "integer", **bounds}) == number
    assert made({"type": "number", **bounds}) == number


@pytest.mark.parametrize(
    ("bounds", "length", "bloated"),
    [
        ({}, 1, 2),
        ({"minItems": 0}, 1, 2),
        ({"minItems": 2, "maxItems": 4}, 2, 4),
        ({"maxItems": 0}, 0, 0),
        ({"maxItems": 1}, 1, 1),
        ({"maxItems": 5}, 1, 5),
    ],
)
def test_a_list_has_one_entry_or_as_many_as_its_bounds_ask_for(
    bounds: dict[str, int], length: int, bloated: int
) -> None:
    schema = {"type": "array", "items": TEXT, **bounds}
    assert made(schema) == ["The door opens.", "Mira waits."][:length]
    full = made(schema, is_bloated=True)
    assert isinstance(full, list)
    assert len(full) == bloated


def test_places_of_a_list_are_filled_in_order_and_count_for_its_length() -> None:
    places = [{"const": "first"}, {"type": "boolean"}]
    assert made({"type": "array", "prefixItems": places}) == ["first", False]
    both = {"type": "array", "prefixItems": places, "items": TEXT, "minItems": 3, "maxItems": 3}
    assert made(both) == ["first", False, "The door opens."]


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({}, "The door opens."),
        ({"maxLength": 8}, "The door"),
        ({"maxLength": 4}, "The"),
        ({"minLength": 4, "maxLength": 4}, "The."),
        ({"minLength": 20}, "The door opens. The door opens."),
    ],
)
def test_a_text_is_a_sentence_of_the_source_cut_or_repeated(bounds: dict[str, int], text: str) -> None:
    assert made({**TEXT, **bounds}) == text


def test_a_bloated_text_is_as_long_as_it_may_be() -> None:
    assert len(str(made({**TEXT, "maxLength": 90}, is_bloated=True))) == 90


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 0}, 0),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"type": ["null"]}, None),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"oneOf": [{"type": "null"}]}, None),
        ({"allOf": [{"type": "integer"}], "minimum": 3}, 3),
        ({"properties": {"a": {"const": 1}}}, {"a": 1}),
        ({}, "The door opens."),
        ({"$ref": "#/$defs/a~1b~0c", "$defs": {"a/b~c": {"type": "integer"}}, "minimum": 4}, 4),
    ],
)
def test_every_way_of_saying_what_is_wanted_is_understood(schema: dict[str, Any], value: object) -> None:
    assert made(schema) == value


def test_a_shape_that_holds_itself_ends_with_what_it_must_have() -> None:
    node = {
        "type": "object",
        "properties": {"name": TEXT, "next": {"$ref": "#/$defs/node"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    value, depth = made({"$ref": "#/$defs/node", "$defs": {"node": node}}), 0
    while isinstance(value, dict) and "next" in value:
        value, depth = value["next"], depth + 1
    assert isinstance(value, dict)
    assert set(value) == {"name"}
    assert depth == 12


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": "ab"},
        {"type": "object", "properties": {"a": 1}},
        {"type": "object", "properties": [1]},
        {"anyOf": {"type": "null"}},
    ],
)
def test_a_schema_that_is_none_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not well formed"):
        json_from_schema(schema, SOURCE)


def test_where_nothing_is_told_a_sentence_is_made_up() -> None:
    assert json_from_schema(TEXT, "") == "Nothing of note."
    assert json_from_schema({"type": "array", "items": TEXT, "minItems": 2}, "One.") == ["One.", "One."]


def test_a_list_of_anything_has_as_many_entries_as_it_must_and_one_that_is_closed_no_more() -> None:
    assert len(cast("list[object]", made({"type": "array", "minItems": 2, "items": True}))) == 2
    assert len(cast("list[object]", made({"type": "array", "minItems": 2}))) == 2
    closed = {"type": "array", "prefixItems": [TEXT], "items": False}
    assert len(cast("list[object]", made(closed, is_bloated=True))) == 1


@pytest.mark.parametrize("name", ["items", "prefixItems"])
def test_a_list_of_lists_of_lists_ends(name: str) -> None:
    own: object = {"$ref": "#"}
    value = made({"type": "array", name: own if name == "items" else [own]})
    depth = 0
    while value:
        assert isinstance(value, list)
        value, depth = value[0], depth + 1
    assert 5 <= depth <= 50
