"""A letter and its accents are one character, and where it came from is known."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from core.text.graphemes import composed, composed_with_places, is_composed

LETTERS = st.text(st.sampled_from("aeo \u0301\u0308\u0323é𝄞x"), max_size=12)


def test_two_accents_of_a_letter_are_composed_with_it_and_another_sign_is_not() -> None:
    assert composed_with_places("ae\u0323\u0302!") == ("aệ!", [(0, 1), (1, 4), (4, 5)])
    assert composed_with_places("x\u0301\u0301") == ("x\u0301\u0301", [(0, 1), (1, 2), (2, 3)])


@given(LETTERS)
def test_places_cover_a_text_once_and_what_stands_there_composes_to_the_character(text: str) -> None:
    joined, places = composed_with_places(text)
    assert [start for start, _ in places] == [0, *(end for _, end in places)][: len(places)]
    assert "".join(text[start:end] for start, end in places) == text
    for character, (start, end) in zip(joined, places, strict=True):
        assert composed(text[start:end]) == character


@given(LETTERS)
def test_what_is_composed_already_has_each_character_from_one(text: str) -> None:
    text = composed(text)
    assert is_composed(text)
    assert composed_with_places(text) == (text, [(place, place + 1) for place in range(len(text))])
    assert is_composed(unicodedata.normalize("NFD", text)) == (unicodedata.normalize("NFD", text) == text)
