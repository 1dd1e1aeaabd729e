"""Sentences that a text already has are dropped; all else of it stays as it was."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.voices.good_service import read_prose
from core.text.analysis.repeated_sentences import sentences_of, without_repeated_sentences
from core.text.analysis.repetition import LEAST_WORDS, words_of
from tests.core.values.sessions import any_text

LAMP = "The lamp turned over the black water."
DOOR = "She set her shoulder to the door."
SPEECH = '"Nobody has gone down to the boat," said Joss.'
JAPANESE = "私は扉に肩を当てて、力いっぱい押してみる。"


def kept(text: str, *before: str, source: str = "") -> str:
    return without_repeated_sentences(text, before, source).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LAMP} {DOOR} {LAMP}", f"{LAMP} {DOOR}"),
        (f"{LAMP} {LAMP} {LAMP} {DOOR}", f"{LAMP} {DOOR}"),
        (f"{LAMP} the LAMP turned, over the black water! {DOOR}", f"{LAMP} {DOOR}"),
        (f"{LAMP}\n\n{DOOR} {LAMP}\n\nThe sea rose.", f"{LAMP}\n\n{DOOR}\n\nThe sea rose."),
        (f"{LAMP}\n\n{LAMP}\n\n{DOOR}", f"{LAMP}\n\n{DOOR}"),
        (f"{SPEECH} {DOOR} {SPEECH}", f"{SPEECH} {DOOR}"),
        (
            "Mr. Quarrie went down to the boat at dawn. Mrs. Quarrie went down to the boat at dawn.",
            "Mr. Quarrie went down to the boat at dawn.",
        ),
        (f"{JAPANESE}{JAPANESE}灯が消えた。", f"{JAPANESE}灯が消えた。"),
        (f"{JAPANESE}\n{JAPANESE.replace('扉', '窓')}", JAPANESE),
        (f"{LAMP} Again the lamp turned over the black water at dawn.", LAMP),
        (
            "He walked up to the bridge. Then he walked down to the deck. He walked up to the bridge again, "
            "and he walked down to the deck again.",
            "He walked up to the bridge. Then he walked down to the deck.",
        ),
    ],
)
def test_a_sentence_that_was_told_is_not_told_again(text: str, expected: str) -> None:
    assert kept(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "He nodded. She waited. He nodded.",
        f"{LAMP} The lamp turned slowly, and nobody looked at the black water.",
        f"{JAPANESE}私は窓から外を見て、静かに待っている。",
        f'{DOOR} "She set her shoulder to the door. Then it broke," he said.',
        f'"{DOOR} Then it broke," he said. "{DOOR} Nothing more came of that," he added.',
        "  A line\n\n  and another, without an end",
    ],
)
def test_short_new_and_half_quoted_sentences_stay_as_they_are(text: str) -> None:
    short = without_repeated_sentences(text, (), "")
    assert (short.text, short.dropped) == (text, 0)


def test_a_part_is_compared_with_the_parts_before_it() -> None:
    assert kept(f"{DOOR} {LAMP}", f"The night was long. {LAMP}", "Nobody slept.") == DOOR
    assert kept(f"{LAMP} {DOOR}", LAMP, DOOR) == ""


def test_the_prose_of_a_good_model_has_nothing_that_repeats_itself() -> None:
    replies, story = read_prose()
    assert without_repeated_sentences(story, replies, "").dropped == 0


def test_what_was_said_twice_may_be_told_twice_and_no_third_time() -> None:
    canon = 'I say, "Nobody has gone down to the boat." He laughs. "Nobody has gone down to the boat," I say.'
    twice = f"{SPEECH} {DOOR} {SPEECH}"
    assert kept(twice, source=canon) == twice
    assert kept(f"{twice} {SPEECH}", source=canon) == twice
    assert kept(f"{LAMP} {DOOR} {LAMP}", source=f"{LAMP} And again: {LAMP}") == f"{LAMP} {DOOR} {LAMP}"


def test_what_was_dropped_is_said_in_words() -> None:
    assert without_repeated_sentences(LAMP, (), "").in_words == ()
    assert without_repeated_sentences(LAMP, (LAMP,), "").in_words == (
        "1 sentence that repeats what the chapter has already",
    )
    assert without_repeated_sentences(f"{LAMP} {LAMP}", (LAMP,), "").in_words == (
        "2 sentences that repeat what the chapter has already",
    )


@given(any_text)
def test_the_sentences_of_any_text_joined_are_the_text(text: str) -> None:
    assert "".join(sentences_of(text)) == text


@given(st.lists(st.sampled_from([LAMP, DOOR, SPEECH, JAPANESE, "Yes.", '"'])))
def test_what_is_kept_is_in_order_and_has_each_long_sentence_once(sentences: list[str]) -> None:
    text = " ".join(sentences)
    short = kept(text)
    rest = iter(sentences_of(text))
    assert all(any(one.strip() == other.strip() for other in rest) for one in sentences_of(short))
    if '"' not in sentences:
        long = [tuple(words_of(one)) for one in sentences_of(short)]
        long = [one for one in long if len(one) >= LEAST_WORDS]
        assert len(long) == len(set(long))
    assert kept(short) == short


def test_a_long_text_that_repeats_itself_is_shortened_at_once() -> None:
    laughter = f"Now {'ha ' * 3_000}said Joss. "
    text = f"{laughter * 10}{f'{DOOR} ' * 3_000}"
    began = thread_time()
    assert kept(text, source=text * 3) == text, "its dialogue is in the source as often"
    assert kept(text, source="ha " * 100_000).count(DOOR) == 1
    assert thread_time() - began < 3


def test_a_name_between_spaces_makes_no_shorter_runs_of_a_script_without_spaces() -> None:
    before = ("Kara 打开了窗。", "Kara 从窗走进来。", "Kara 走进房间里。")
    new = "Kara 打开了窗，走进房间。"
    assert kept(new, *before) == new


def test_sentences_end_at_the_marks_of_their_scripts() -> None:
    assert list(sentences_of("राजा गया। रानी आई। ")) == ["राजा गया। ", "रानी आई। "]
    assert list(sentences_of("هل ذهبت؟ نعم.")) == ["هل ذهبت؟ ", "نعم."]
