"""Letters and words of every script, and texts as they are searched."""

import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.letters import LETTER, WORD_BEGINS, folded


@pytest.mark.parametrize("word", ["Zoë", "राजा", "שָׁלוֹם", "за\u0301мок", "x2_y"])
def test_a_word_with_spaces_around_it_is_made_of_letters(word: str) -> None:
    assert re.fullmatch(f"(?:{LETTER})+", word)


@pytest.mark.parametrize("sign", ["師", "の", "ก", "က", "❤", "\ufe0f", "\u200d", "।", "’", ""])
def test_signs_and_characters_that_are_words_are_no_letters(sign: str) -> None:
    assert re.match(LETTER, sign) is None


def test_a_word_may_begin_before_each_character_without_spaces_but_in_no_other_word() -> None:
    assert [found.start() for found in re.finditer(WORD_BEGINS + r"\w", "a राजा 我们Kara的")] == [
        0,
        2,
        7,
        8,
        9,
        13,
    ]


def test_letters_are_searched_without_case_and_as_one_character_with_their_accents() -> None:
    assert folded("İZMİR Zoe\u0308 STRASSE") == folded("izmir ZOË straße") == "izmir zoë strasse"


@given(st.text())
def test_a_folded_text_is_found_in_another_form_of_it(text: str) -> None:
    assert folded(text) == folded(normalize("NFC", text))
