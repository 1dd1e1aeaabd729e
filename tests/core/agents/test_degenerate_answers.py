"""Answers of models that repeat one character thousands of times are read in time that grows with them."""

from collections.abc import Callable
from time import process_time

import pytest

from core.agents.character import trim_small_reply
from core.domain.story.silence import before_marks, read_spoken
from core.text.analysis.repeated_sentences import sentences_of

LENGTH = 60_000
SECONDS = 5.0
"""Each takes a few hundredths of a second; with time that grows with the square it takes ten or more."""


@pytest.mark.parametrize("unit", ["...", "?!", "Mr. "])
def test_sentences_are_found_behind_a_long_row_of_marks(unit: str) -> None:
    text = unit * (LENGTH // len(unit)) + "he said. And left."
    began = process_time()
    assert "".join(sentences_of(text)) == text
    assert process_time() - began < SECONDS


def test_a_row_of_marks_ends_a_sentence_where_white_space_follows() -> None:
    assert list(sentences_of("... so. “What?!” she said... Then…")) == [
        "... ",
        "so. ",
        "“What?!” ",
        "she said... ",
        "Then…",
    ]


@pytest.mark.parametrize(
    "read",
    [
        lambda text: trim_small_reply(text, ("Joss",), own="Kara", is_unfinished=False)[0],
        lambda text: read_spoken(text).text,
        before_marks,
    ],
    ids=["reply of a small model", "reply that may be silent", "reply that streams"],
)
@pytest.mark.parametrize("unit", ["\n", " ", "_", "*"])
def test_a_reply_is_read_behind_a_long_row_of_one_character(read: Callable[[str], str], unit: str) -> None:
    began = process_time()
    assert read(unit * LENGTH + "She nods.").endswith("She nods.")
    assert process_time() - began < SECONDS
