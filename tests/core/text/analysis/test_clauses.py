"""The clauses of a text, and its spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.analysis.clauses import FEWEST_WORDS, MOST_SPANS, SPAN_WORDS, clauses_of, spans_of


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


def test_many_short_sentences_take_no_more_time_than_their_length() -> None:
    [clause] = clauses_of("Well. " * 30_000)
    assert len(clause.split()) == 30_000


def test_spans_reach_over_a_text_and_overlap() -> None:
    assert spans_of("one two three") == ("one two three",)
    words = [str(number) for number in range(1, 13)]
    assert spans_of(" ".join(words)) == ("1 2 3 4 5 6 7", "3 4 5 6 7 8 9", "6 7 8 9 10 11 12")


@given(st.lists(st.sampled_from(["mill", "smith", "at", "the", "?"]), max_size=400))
def test_a_text_has_few_spans_and_each_of_its_words_is_in_one(words: list[str]) -> None:
    spans = spans_of(" ".join(words))
    assert len(spans) <= MOST_SPANS
    assert len(set(spans)) == len(spans)
    if len(words) > SPAN_WORDS:
        assert all(len(span.split()) >= SPAN_WORDS for span in spans)
    assert {word for span in spans for word in span.split()} == set(words)
