"""What no export is, by its size alone: refused before a value of it is looked at."""

import json
from typing import Any

import pytest

from core.exchange.import_bounds import (
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_NUMBER,
    MAX_VALUES,
    BoundExceededError,
    parse,
)

TOO_LONG = [0] * (MAX_ENTRIES + 1)


def nested(levels: int) -> object:
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    return value


def document(value: object) -> bytes:
    return json.dumps(value).encode()


def test_the_bounds_are_those_that_the_documentation_names() -> None:
    assert (MAX_VALUES, MAX_ENTRIES, MAX_DEPTH, MAX_NUMBER) == (4_000_000, 1_000, 150, 2_147_483_647)


def test_as_many_levels_as_are_allowed_are_read_and_one_more_is_refused() -> None:
    assert parse(document(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(BoundExceededError, match="deeper than 150"):
        parse(document(nested(MAX_DEPTH + 1)))


def test_an_object_has_at_most_a_thousand_keys() -> None:
    fits = {str(number): 0 for number in range(MAX_ENTRIES)}
    assert parse(document(fits)) == fits
    with pytest.raises(BoundExceededError, match="1,000 entries"):
        parse(document({**fits, "one more": 0}))


def test_lists_of_records_and_of_names_of_blocks_may_be_long_and_no_other_list() -> None:
    for fits in ({"body": {"events": TOO_LONG}}, {"a": {"b": {"c": {"block_ids": TOO_LONG}}}}):
        assert parse(document(fits)) == fits
    for refused in (TOO_LONG, {"events": TOO_LONG}, {"body": {"events": [{"names": TOO_LONG}]}}):
        with pytest.raises(BoundExceededError):
            parse(document(refused))
    keys = {str(number): 0 for number in range(MAX_ENTRIES + 1)}
    with pytest.raises(BoundExceededError):
        parse(document({"body": {"events": keys}}))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_of_a_record_fits_its_column(sign: int) -> None:
    assert parse(document([sign * MAX_NUMBER])) == [sign * MAX_NUMBER]
    with pytest.raises(BoundExceededError, match="number that is too large"):
        parse(document([sign * (MAX_NUMBER + 1)]))


@pytest.mark.parametrize("key", ["payload", "metadata", "details"])
def test_what_a_model_wrote_keeps_its_numbers_and_lists(key: str) -> None:
    free: Any = {"body": {"blocks": [{key: {"deep": {"n": 10**30, "list": TOO_LONG}}}]}}
    assert parse(document(free)) == free
    with pytest.raises(BoundExceededError):
        parse(document({key: 0, "n": 10**30}))


def test_values_are_counted_before_they_are_made_and_those_in_strings_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.exchange.import_bounds.MAX_VALUES", 5)
    assert parse(b'["a,[{,,,,,,", "b\\",,,,[[", {}]')
    assert parse(b"[1, 2, 3, 4, 5]")
    for refused in (b"[1, 2, 3, 4, 5, 6]", b"[[[[[[]]]]]]", b"[{}, {}, {}]", b"[,,,,,"):
        with pytest.raises(BoundExceededError, match="more than 5 values"):
            parse(refused)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_of_json_is_no_json(constant: str) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        parse(f"[{constant}]".encode())
