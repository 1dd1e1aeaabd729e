"""Counts in sentences."""

import pytest

from core.text.numbers import counted, number_of


@pytest.mark.parametrize(
    ("count", "words", "expected"),
    [
        (0, ("prompt",), "0 prompts"),
        (1, ("prompt",), "1 prompt"),
        (2_000, ("prompt",), "2,000 prompts"),
        (1, ("entry", "entries"), "1 entry"),
        (3, ("entry", "entries"), "3 entries"),
    ],
)
def test_a_count_has_its_noun_in_the_number_that_it_takes(
    count: int, words: tuple[str, ...], expected: str
) -> None:
    assert counted(count, *words) == expected


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (10**400, 9),
        (-(10**400), 0),
        ("1e400", 9),
        (float("nan"), None),
        ("nan", None),
        (True, None),
        ("x", None),
    ],
    ids=["long", "long and below", "infinite", "none", "none in words", "a switch", "a word"],
)
def test_a_number_of_a_file_is_within_its_bounds_however_long_it_is(
    value: object, number: float | None
) -> None:
    assert number_of(value, 0, 9) == number
