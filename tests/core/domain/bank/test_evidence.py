"""Words of an event that prove an item."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.bank.evidence import FEWEST_LETTERS, find_words

TEXT = "Kara  said: “I’ll keep the brass\nkey,” and hid it. The heart beat.\n"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("I'll keep the brass key", "I’ll keep the brass\nkey"),
        ("“I’ll keep the brass key,”", "I’ll keep the brass\nkey"),
        ("Kara said", "Kara  said"),
        ("Kara said: “I’ll", "Kara  said: “I’ll"),
        ("hid it.", "hid it"),
        ("hid it …", "hid it"),
        ("the brass key, and hid it", "the brass\nkey,” and hid it"),
    ],
)
def test_white_space_and_quotation_marks_do_not_count(words: str, found: str) -> None:
    place = find_words(TEXT, words)
    assert place is not None
    assert TEXT[place[0] : place[1]] == found


@pytest.mark.parametrize("words", ["", "  ", "“”", "it", "brass keys", "kara said", "art beat", "x" * 501])
def test_words_that_do_not_stand_there_prove_nothing(words: str) -> None:
    assert find_words(TEXT, words) is None


@given(st.text(), st.text(), st.text())
def test_words_are_found_where_they_stand_in_any_text(before: str, words: str, after: str) -> None:
    text = f"{before} {words} {after}"
    place = find_words(text, words)
    if place is None:
        assert sum(map(str.isalnum, words)) < FEWEST_LETTERS or len(words) > 400
    else:
        assert 0 <= place[0] < place[1] <= len(text)
        assert find_words(text[place[0] : place[1]], words) is not None
