"""When a reply only says again what another text said: a table, and what holds for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.analysis.repetition import LEAST_WORDS, Repeatable, first_repeated, terms_of, words_of
from tests.core.values.sessions import any_text

EXAMPLE = '"This shelf will not keep me here," I say. I set my shoulder against it and try to push it aside.'
PROMPT = (
    "The survivors are by the stove. Ines puts out a wet hand, palm up, and asks for the log: pleasantly, "
    "as one asks for the salt. Joss is suddenly very busy with the blankets. What do you do with it?"
)
JAPANESE = "私は扉に肩を当てて、力いっぱい押してみる。"
THAI = (
    "ลมทะเลพัดแรงจนหน้าต่างไม้สั่น คาราวางตะเกียงลงบนโต๊ะแล้วหันมามองเขาอย่างเหนื่อยล้า เธอไม่ได้นอนมาสองคืนแล้ว "
    "และเสียงคลื่นที่กระทบหินด้านล่างก็ไม่เคยหยุดเลยสักครู่ เขาบอกเธอว่าเรือจะมาถึงก่อนรุ่งสาง "
    "แต่ไม่มีใครในหมู่บ้านเชื่อคำพูดนั้นอีกต่อไป เด็กคนหนึ่งยืนอยู่ที่ประตู ถือกุญแจทองเหลืองไว้ในมือเล็ก ๆ ของเขา "
    "คาราถามว่าเขาไปเอามันมาจากไหน แต่เด็กเพียงแค่ส่ายหน้าและวิ่งหายไปในความมืด"
)


def repeats(text: str, source: str) -> bool:
    return first_repeated(text, (Repeatable("", source),)) is not None


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        (EXAMPLE, EXAMPLE),
        ("I put my shoulder to the door.", "i put my SHOULDER, to the door!"),
        ("*I put my shoulder to the door*", "Say what you attempt (I put my shoulder to the door)."),
        ("I hesitate before taking any action.", "I hesitate before taking any action. I wait."),
        (EXAMPLE.replace("aside", "away"), EXAMPLE),
        (EXAMPLE.replace("shelf", "door").replace("shoulder", "back"), EXAMPLE),
        ("Ines puts out a wet hand, palm up, and asks for the log.", PROMPT),
        ("I’ll go down to the boat, and wait there.", "I'll go down to the boat and wait there"),
        (JAPANESE, JAPANESE),
        ("คาราวางตะเกียงลงบนโต๊ะแล้วหันมามองเขา", THAI),
        (
            "I am a cable rigger and I have been on the Stalk for fourteen years and never thought of it.",
            "I am a cable rigger, and I have been on the Stalk forever, and never thought of it till now.",
        ),
    ],
)
def test_a_reply_that_says_nothing_else_repeats_it(reply: str, source: str) -> None:
    assert repeats(reply, source)


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        ("Yes.", "Yes."),
        ("I do not know.", "I do not know."),
        ("", ""),
        ("「はい」", "「はい」"),
        (
            "It would be easy to nod.",
            "The order would be to run. Stay: that would be easy to say to the sea.",
        ),
        ("The log stays under my arm. I ask Ines what she hopes to read in it.", PROMPT),
        ('"For the salt," I say after her, and I give her the cellar instead of the book.', PROMPT),
        ("I set my lamp down and listen. Then I try the window, because the door is blocked.", EXAMPLE),
        (
            "I look at Joss. He is busy with the blankets, too busy, and I say his name to make him turn.",
            PROMPT,
        ),
        (
            "ฉันเดินช้า ๆ ไปที่หน้าต่างและมองออกไปข้างนอก ไม่มีอะไรนอกจากหมอกขาว ฉันคิดว่าเราควรรอจนถึงเช้าก่อนจะออกเดินทาง",
            THAI,
        ),
        (EXAMPLE + " Then I call for Mara, who must be close, and tell her to bring the iron bar.", EXAMPLE),
    ],
)
def test_a_reply_that_is_short_or_has_something_of_its_own_to_say_does_not(reply: str, source: str) -> None:
    assert not repeats(reply, source)


def test_the_first_source_that_is_repeated_is_named() -> None:
    sources = (
        Repeatable("the GM's prompt", PROMPT),
        Repeatable("an example", EXAMPLE),
        Repeatable("another", EXAMPLE),
    )
    assert first_repeated(EXAMPLE, sources) == sources[1]
    assert first_repeated("I go out and count the boats in the harbour.", sources) is None
    assert first_repeated("Yes.", (Repeatable("a reply", "Yes."),)) is None


@given(any_text, any_text)
def test_only_a_text_of_some_words_can_repeat_and_each_such_text_repeats_itself(
    text: str, around: str
) -> None:
    is_long = len(terms_of(text)) >= LEAST_WORDS
    assert repeats(text, text) is is_long
    assert repeats(text, f"{around} {text} {around}") is is_long


@given(st.lists(st.from_regex(r"[a-m]{3,7}", fullmatch=True), min_size=LEAST_WORDS, max_size=40))
def test_case_punctuation_and_markup_make_no_difference_and_other_words_do(words: list[str]) -> None:
    assert repeats(" ".join(words), "*" + ", ".join(words).upper() + "*!")
    assert not repeats(" ".join(words), " ".join(word.translate(SHIFTED) for word in words))


SHIFTED = str.maketrans("abcdefghijklm", "nopqrstuvwxyz")


@given(st.lists(st.text("xyz", min_size=1, max_size=3), max_size=2_000))
def test_a_long_text_is_compared_in_no_time_however_it_repeats_itself(words: list[str]) -> None:
    text = " ".join(words)
    assert first_repeated(text, (Repeatable("", "other words altogether"),) * 30) is None


@pytest.mark.parametrize("text", ["राजा महल में गया", "தமிழ் மொழி", "שָׁלוֹם לָךְ", "за\u0301мок стоит"])
def test_a_vowel_sign_or_an_accent_does_not_end_a_word(text: str) -> None:
    assert words_of(text) == text.split()
