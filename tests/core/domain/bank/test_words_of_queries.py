"""The words of a query: names, and texts of any length."""

from time import process_time

from core.domain.bank.recall import MOST_WORDS, query_words, words_of

SECONDS = 20.0
"""Some two are needed on a busy machine; with a copy of the text for each name it was more than a minute."""


def test_a_capital_that_begins_no_sentence_is_that_of_a_name() -> None:
    text = "Kara saw  Tobias. Then  (Joss) left:  Mara said “Run” to Ute"
    assert [one.word for one in words_of(text) if one.is_name] == ["tobias", "ute"]


def test_a_long_text_of_names_is_read_in_time_that_grows_with_its_length() -> None:
    began = process_time()
    assert len(query_words([("Ab " * 130_000, 1.0)])) == 1
    assert process_time() - began < SECONDS


def test_a_word_of_a_query_has_its_vowel_signs() -> None:
    assert [one.word for one in words_of("राजा_महल, नमस्ते")] == ["राजा", "महल", "नमस्ते"]


def test_where_no_spaces_part_words_a_query_has_pieces_that_overlap() -> None:
    assert [one.word for one in words_of("鐵匠的門")] == ["鐵匠", "匠的", "的門"]
    assert [one.word for one in words_of("門, 人々とKaraが3人")] == [
        "門",
        "人々",
        "々と",
        "kara",
        "が",
        "3",
        "人",
    ]
    assert [one.word for one in words_of("กุญแจ ไป")] == ["กุญ", "ุญแ", "ญแจ", "ไป"]
    assert not any(one.is_name for one in words_of("彼はカラを見た"))


def test_of_a_long_japanese_prompt_a_query_has_what_tells_most_in_twice_as_many_pieces() -> None:
    text = "それはとてもよかったということなのですけれども、" * 3 + "鐵匠と灯台守がマーラの指輪を盗んだ。"
    words = [one.word for one in query_words([(text, 1.0)])]
    assert MOST_WORDS < len(words) <= 2 * MOST_WORDS
    assert {"鐵匠", "灯台", "台守", "マー", "ーラ", "指輪"} <= set(words[: MOST_WORDS // 2])
    assert len(query_words([(" ".join(map(str, range(90))), 1.0)])) == MOST_WORDS
