"""A JSON text is kept as it is, and an edit moves nothing but what it edits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.json_document import JsonDocument, parse_json
from core.library.refusal import FileRefusedError

KEYS = st.sampled_from(["a", "b", "é", 'with "quote"', ""])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, TREES, min_size=1, max_size=4)


def places(value: Any) -> list[tuple[Any, ...]]:
    """Every place of a value, as a path."""
    found: list[tuple[Any, ...]] = [()]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += [(key, *path) for path in places(inner)]
    return found


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


@given(st.data(), st.dictionaries(KEYS, TREES, min_size=1, max_size=4), st.sampled_from([None, 0, 3]))
def test_any_value_is_replaced_and_all_others_stay(
    data: st.DataObject, value: Any, indent: int | None
) -> None:
    document = parse_json(json.dumps(value, indent=indent), "It")
    path = data.draw(st.sampled_from(places(value)[1:]))
    assert document.with_value(path, "new").value == put(value, path, "new")
    assert document.with_value(path, "new").with_value(path, document.get(*path)).value == value


@given(st.data(), OBJECTS, st.sampled_from([None, 2]))
def test_a_value_is_removed_and_all_others_stay(data: st.DataObject, value: Any, indent: int | None) -> None:
    document = parse_json(json.dumps(value, indent=indent), "It")
    *above, last = data.draw(st.sampled_from(places(value)[1:]))
    parent = document.get(*above)
    left = (
        {k: v for k, v in parent.items() if k != last}
        if isinstance(parent, dict)
        else parent[:last] + parent[last + 1 :]
    )
    expected = put(value, tuple(above), left)
    assert document.without((*above, last)).value == expected


def test_a_new_key_comes_last_spaced_as_the_others() -> None:
    text = '{\n  "a": 1.50,\n  "b": [ ]\n}'
    document = parse_json(text, "It")
    assert document.with_value(("c",), 2).text == '{\n  "a": 1.50,\n  "b": [ ],\n  "c": 2\n}'
    assert document.with_value(("x", "y"), 2).value["x"] == {"y": 2}
    assert document.with_item(("b",), 7).text == '{\n  "a": 1.50,\n  "b": [7]\n}'


def test_many_edits_at_once_are_what_they_are_one_after_the_other() -> None:
    document = parse_json('{"a": {"b": 1, "c": [1, 2]}, "n": null}', "It")
    edits = {("a", "b"): 9, ("a", "c", 1): "x", ("a", "new"): 1, ("n", "deep"): True, ("z",): []}
    one_by_one = document
    for path, value in edits.items():
        one_by_one = one_by_one.with_value(path, value)
    assert document.with_values(edits).value == one_by_one.value


def test_of_two_equal_keys_the_last_counts_and_both_go() -> None:
    document = parse_json('{"a": 1, "b": 2, "a": 3}', "It")
    assert document.with_value(("a",), 4).text == '{"a": 1, "b": 2, "a": 4}'
    assert document.without(("a",)).value == {"b": 2}


def test_a_path_through_a_text_is_refused() -> None:
    with pytest.raises(KeyError):
        JsonDocument('{"a": "x"}').with_value(("a", "b"), 1)
    with pytest.raises(KeyError):
        JsonDocument('{"a": [1]}').with_value(("a", 5), 1)


@pytest.mark.parametrize("text", ["", " \n", "\ufeff\x00"])
def test_what_is_empty_is_said_to_be(text: str) -> None:
    with pytest.raises(FileRefusedError, match=r"^The file is empty\.$"):
        parse_json(text, "The file")


@pytest.mark.parametrize("text", ["{", '{"a": }', "[1,]", "{} {}", "\x00\x01", '{"a": "\n"}'])
def test_what_is_no_json_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(FileRefusedError, match=r"^The file is not valid JSON: line \d+ cannot be read\.$"):
        parse_json(text, "The file")


@pytest.mark.parametrize("others", ["", '"b": 1, ', '"b": 1, "c": {"a": 2}, '])
def test_a_name_is_removed_as_often_as_it_is_there(others: str) -> None:
    thousands = ", ".join(['"a": [1]'] * 3_000)
    for text in (f"{others}{thousands}", f"{thousands}, {others}{thousands}", f'"a": 0, {others}"a": 1'):
        document = parse_json(f"{{ {text} }}", "It")
        assert document.without(("a",)).value == json.loads(f"{{{others.removesuffix(', ')}}}")
