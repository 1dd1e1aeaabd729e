"""The clauses of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.analysis.clauses import FEWEST_WORDS, clauses_of


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Who owns the violin?", ("Who owns the violin",)),
        (
            "What did the baker swear, there where the ships dock?",
            ("What did the baker swear", "there where the ships dock"),
        ),
        ("Yes, but where is the key?", ("Yes, but where is the key",)),
        ("She waits at the gate. “Well,” he says, “go.”", ("She waits at the gate, Well, he says, go",)),
        ("It costs 3.5 silver coins: who pays for that?", ("It costs 3.5 silver coins", "who pays for that")),
        ("鍵はどこですか、港の人。", ("鍵はどこですか, 港の人",)),
        ("", ()),
        ("…", ()),
    ],
)
def test_a_text_is_split_at_punctuation_into_clauses_that_say_enough(
    text: str, clauses: tuple[str, ...]
) -> None:
    assert clauses_of(text) == clauses


@given(st.text())
def test_each_of_several_clauses_has_words_enough_and_no_word_is_lost(text: str) -> None:
    clauses = clauses_of(text)
    if len(clauses) > 1:
        assert all(len(one.split()) >= FEWEST_WORDS for one in clauses)
    said = "".join(clauses)
    assert all(letter in said for letter in text if letter.isalnum())
