"""Counts in sentences."""

import pytest

from core.text.numbers import counted


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
