"""The words of a query: names, and texts of any length."""

from time import perf_counter

from core.domain.bank.recall import query_words, words_of

SECONDS = 20.0
"""Some two are needed on a busy machine; with a copy of the text for each name it was more than a minute."""


def test_a_capital_that_begins_no_sentence_is_that_of_a_name() -> None:
    text = "Kara saw  Tobias. Then  (Joss) left:  Mara said “Run” to Ute"
    assert [one.word for one in words_of(text) if one.is_name] == ["tobias", "ute"]


def test_a_long_text_of_names_is_read_in_time_that_grows_with_its_length() -> None:
    began = perf_counter()
    assert len(query_words([("Ab " * 130_000, 1.0)])) == 1
    assert perf_counter() - began < SECONDS


def test_a_word_of_a_query_has_its_vowel_signs() -> None:
    assert [one.word for one in words_of("राजा_महल, สวัสดี")] == ["राजा", "महल", "สวัสดี"]
