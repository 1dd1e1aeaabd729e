"""Words of an event that prove an item."""

import unicodedata

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


def test_a_dash_is_found_whichever_one_a_model_writes_for_it() -> None:
    text = "I lift the half‑open lid — slowly."
    for words in ("the half-open lid - slowly", "the half‑open lid – slowly", "half-open"):
        assert find_words(text, words) is not None


def test_a_letter_and_its_accent_are_the_same_as_one_character_and_as_two() -> None:
    one = "Da ist Zo\xeb's gr\xf6\xdftes Caf\xe9."
    two = unicodedata.normalize("NFD", one)
    assert len(two) > len(one)
    for quoted in ("Zo\xeb's gr\xf6\xdftes", "Caf\xe9"):
        for text in (one, two):
            for words in (quoted, unicodedata.normalize("NFD", quoted)):
                place = find_words(text, words)
                assert place is not None
                assert unicodedata.normalize("NFC", text[slice(*place)]) == quoted


@pytest.mark.parametrize(
    ("text", "words", "is_found"),
    [
        ("銅の鍵は水車の下にあります。", "鍵は水車の下", True),
        ("The 水車小屋is old.", "水車小屋", True),
        ("The cafe\u0301 is shut.", "The cafe", False),
        ("Her cafe\u0301 is shut, the other cafe is not.", "cafe", True),
        ("The cafe\u0301 is shut.", "cafe\u0301", True),
        ("हिन्दी", "हिन्द", False),
        ("The heart beats, and art lasts.", "art", True),
        ("महाकविता", "कविता", False),
        ("Xfoo foo foo", "foo foo", True),
    ],
)
def test_a_word_ends_as_its_script_has_it(text: str, words: str, is_found: bool) -> None:
    place = find_words(text, words)
    assert (place is not None) is is_found
    assert place is None or text[place[0] : place[1]] == words


@given(st.text(), st.text(), st.text())
def test_words_are_found_where_they_stand_in_any_text(before: str, words: str, after: str) -> None:
    text = f"{before} {words} {after}"
    place = find_words(text, words)
    if place is None:
        assert sum(map(str.isalnum, words)) < FEWEST_LETTERS or len(words) > 400
    else:
        assert 0 <= place[0] < place[1] <= len(text)
        assert find_words(text[place[0] : place[1]], words) is not None


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("她说：「我走了，再见。」", "我走了。", "我走了"),
        ("وصل أحمد، ثم غادر", "وصل أحمد؛", "وصل أحمد"),
        ("राजा गया, रानी आई।", "राजा गया।", "राजा गया"),
        ("他叫李明。", "李明", "李明"),
        ("민수 왔다.", "민수", "민수"),
    ],
)
def test_words_of_other_scripts_are_found_without_their_last_mark(text: str, words: str, found: str) -> None:
    place = find_words(text, words)
    assert place is not None
    assert text[slice(*place)] == found


def test_one_character_alone_proves_nothing() -> None:
    assert find_words("他走了。", "他") is None
