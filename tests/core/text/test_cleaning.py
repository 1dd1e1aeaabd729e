"""Text from models, files and pastes is data (design 8)."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.cleaning import StreamCleaner, clean, clean_line, has_controls, is_blank
from core.text.prose import cut_in_words, to_last_sentence, word_count
from tests.core.values.sessions import GRAPHEMES, any_text

SEQUENCES = ["\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1bP1$q\x1b\\", "\x1b", "\x9b2J"]
CONTROLS = ["\x00", "\r\n", "\r", "\u2028", "\x85", "\u202e", "\u2066", "\t", "\n", "\ud800", "[31m"]

nasty = st.lists(
    st.one_of(st.sampled_from(SEQUENCES), st.sampled_from(CONTROLS), st.characters(), any_text), max_size=15
).map("".join)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]52;c;aGk=\x1b\\text", "text"),
        ("\x1b]0;never closed\nnext line", "\nnext line"),
        ("\x9b31mred", "red"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x1b(Bx\x1b7y", "xy"),
        ("a\x00b\x07c\x7fd\x08", "abcd"),
        ("a\r\nb\rc\u2028d\u2029e\x85f", "a\nb\nc\nd\ne\nf"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("\u202egpj.exe\u2066x", "gpj.exex"),
        ("lone \ud83d surrogate", "lone  surrogate"),
        ("[31m is only text", "[31m is only text"),
    ],
)
def test_what_could_act_goes_and_the_rest_stays(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


def test_what_stands_behind_a_letter_that_was_read_in_another_encoding_stays() -> None:
    quoted = "“Go,” he said. “À bientôt.” Then he left."
    read_as = "".join(
        bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in quoted.encode()
    )  # as a browser does
    assert "\x9d" in read_as
    assert clean(read_as) == read_as.replace("\x9d", "")
    assert clean("\x9d0;title\x9ctext \x90" + "q" * 50_000) == "text " + "q" * 50_000


@pytest.mark.parametrize("grapheme", GRAPHEMES)
def test_every_printable_script_stays(grapheme: str) -> None:
    assert clean(f"x{grapheme}y") == f"x{grapheme}y"


@given(nasty)
def test_clean_text_is_harmless_and_stays_as_it_is(raw: str) -> None:
    text = clean(raw)
    assert clean(text) == text
    assert not [char for char in text if unicodedata.category(char) in ("Cc", "Cs") and char not in "\t\n"]
    json.dumps(text).encode()
    text.encode("utf-8")


@given(nasty, st.data())
def test_cleaning_in_pieces_is_cleaning_the_whole(raw: str, data: st.DataObject) -> None:
    cleaner, out, rest = StreamCleaner(), "", raw
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        out += cleaner.feed(rest[:size])
        rest = rest[size:]
    assert out + cleaner.flush() == clean(raw)


def test_what_may_be_the_start_of_a_sequence_waits() -> None:
    cleaner = StreamCleaner()
    assert cleaner.feed("red \x1b[3") == "red "
    assert cleaner.feed("1mtext") == "text"
    assert cleaner.flush() == ""


def test_a_line_is_one_line() -> None:
    assert clean_line("  a\n\tb \x1b[1m c\r\n") == "a b c"


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\u200d \u2060\n", "\ufeff\u00ad", " \u200b "])
def test_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(text + "x")


def test_words() -> None:
    assert word_count("") == 0
    assert word_count(" one  two\nthree ") == 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("灯灭了。她走了。", 6),
        ("ランプが消えた……", 7),
        ("Kara走进 房间 — 然后", 8),
        ("ฉันไปตลาดกับเพื่อน", 5),
        ("राजा महल में गया। ", 4),
        ("Она ушла — в café", 5),
        ("그녀는 떠났다.", 2),
    ],
)
def test_the_words_of_a_script_without_spaces_are_counted_by_its_characters(text: str, count: int) -> None:
    assert word_count(text) == count


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One. Two. Thr", "One. Two."),
        ('"Stop!" he said. And th', '"Stop!" he said.'),
        ('He said "Stop!" Then', 'He said "Stop!"'),
        ("夜。雪。 途中", "夜。雪。"),
        ("灯灭了。\n\n她走了。他也走了。然后", "灯灭了。\n\n她走了。他也走了。"),
        ("「走吧。」他说。（完了。）她", "「走吧。」他说。（完了。）"),
        ("राजा गया। रानी आ", "राजा गया।"),
        ("هل ذهبت؟ نعم ثم", "هل ذهبت؟"),
        ("no end", "no end"),
        ("At 3.5 metres. Wha", "At 3.5 metres."),
        ("", ""),
    ],
)
def test_to_the_last_whole_sentence(text: str, kept: str) -> None:
    assert to_last_sentence(text) == kept


def test_what_was_cut_off_is_said_with_its_length_and_white_space_is_not_worth_a_word() -> None:
    assert cut_in_words("after its end", "One. Two.", "One.") == (
        "The end of the output after its end (4 characters)",
    )
    assert cut_in_words("after its end", "One. \n ", "One.") == ()
    assert cut_in_words("after its end", "One.", "One.") == ()


def test_a_line_that_holds_a_control_or_a_second_line_is_known() -> None:
    assert not has_controls("Kara, of Rime")
    for odd in ("a\nb", "a\tb", "a\x07b", "a\u2028b", "a\u202eb", "\ud800"):
        assert has_controls(odd)
