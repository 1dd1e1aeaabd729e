"""Wrapping: nothing is lost, nothing is torn, nothing is too wide, and a stream wraps like the whole."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes

from core.text.graphemes import is_safe_cut
from storyengine_tui.textual_ext.painting.cell_width import is_plain
from storyengine_tui.widgets.reading import wrap as wrapping
from storyengine_tui.widgets.reading.wrap import Span, fragments, wrap

LATIN = ["a", "bc", " ", "  ", "\n", "\t", "—", "\u200b"]
OTHERS = ["語", "。", "한", "क्ष", "e\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f"]
ALPHABET = LATIN + OTHERS
texts = st.lists(st.sampled_from(ALPHABET), max_size=40).map("".join)
widths = st.integers(min_value=1, max_value=24)


def shown(text: str, width: int) -> list[str]:
    """Return the lines as they are painted."""
    return ["".join(part.text for part in fragments(text, span)) for span in wrap(text, 0, width)]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("one two", 7, ["one two"]),
        ("one two", 6, ["one", "two"]),
        ("one  two", 5, ["one", "two"]),
        ("one two ", 3, ["one", "two"]),
        ("  one two", 5, ["  one", "two"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a\n\nb", 3, ["a", "", "b"]),
        ("a\n", 3, ["a", ""]),
        ("a\tb", 9, ["a   b"]),
        ("語語語", 5, ["語語", "語"]),
        ("ab語語語", 5, ["ab語", "語語"]),
        ("語語。", 4, ["語", "語。"]),
        ("語語「語", 6, ["語語", "「語"]),
        ("語語語”", 6, ["語語", "語”"]),
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),
        ("👩‍👩‍👧👩‍👩‍👧", 3, ["👩‍👩‍👧", "👩‍👩‍👧"]),
        ("x🇩🇪", 2, ["x", "🇩🇪"]),
    ],
)
def test_lines_break_where_a_reader_expects_it(text: str, width: int, lines: list[str]) -> None:
    assert shown(text, width) == lines


@given(text=texts, width=widths)
def test_only_white_space_lies_between_two_lines(text: str, width: int) -> None:
    position = 0
    for begin, end in wrap(text, 0, width):
        assert text[position:begin].strip(" \n") == ""
        assert begin <= end
        position = end
    assert text[position:].strip(" ") == ""


@given(text=texts, width=widths)
def test_no_line_is_too_wide_unless_it_is_one_character(text: str, width: int) -> None:
    for span, line in zip(wrap(text, 0, width), shown(text, width), strict=True):
        cuts = [p for p in range(span.begin + 1, span.end) if is_safe_cut(text, p)]
        assert cell_len(line) <= width or all(cell_len(text[p : span.end]) == 0 for p in cuts) or not cuts


@given(text=texts, width=st.integers(min_value=8, max_value=24))
def test_nothing_that_is_seen_as_one_character_is_torn(text: str, width: int) -> None:
    for begin, end in wrap(text, 0, width):
        if begin < end:
            assert text[begin - 1 : begin] in ("", "\n", " ") or is_safe_cut(text, begin)
            assert is_safe_cut(text, end) or text[end] in "\n "


@given(text=texts, width=widths, cut=st.integers(min_value=0, max_value=60))
def test_a_text_that_grows_wraps_like_the_whole(text: str, width: int, cut: int) -> None:
    spans = wrap(text[:cut], 0, width)
    grown = [*spans[:-1], *wrap(text, spans[-1].begin, width)]
    assert grown == wrap(text, 0, width)


@given(text=texts)
def test_what_is_painted_knows_where_it_came_from(text: str) -> None:
    line = text.replace("\n", "")
    for part in fragments(line, Span(0, len(line))):
        assert part.text == " " or line.startswith(part.text, part.offset)


def test_no_tab_reaches_the_terminal() -> None:
    assert all("\t" not in part.text for part in fragments("a\tb\t\tc", Span(0, 6)))


PLAIN = [chr(code) for code in range(0x10000) if is_plain(chr(code))]


def test_plain_characters_take_one_cell_and_join_nothing() -> None:
    assert {*"aZ~éüßŁžΩЯ“”‘’–—…€→│▌"} <= {*PLAIN}
    for char in PLAIN:
        assert cell_len(char) == 1, hex(ord(char))
        assert [end - begin for begin, end, _ in split_graphemes(f"a{char}b")[0]] == [1, 1, 1], hex(ord(char))
        assert is_safe_cut(f"a{char}b", 1)
        assert is_safe_cut(f"a{char}b", 2)
        assert unicodedata.category(char) not in ("Cc", "Cf"), hex(ord(char))


@given(text=st.lists(st.sampled_from([*PLAIN, *ALPHABET, " "]), max_size=60).map("".join), width=widths)
def test_plain_text_is_wrapped_as_measuring_it_would_wrap_it(text: str, width: int) -> None:
    known = wrap(text, 0, width), shown(text, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrapping, "is_plain", lambda _: False)
        assert known[0] == wrap(text, 0, width)
        assert known[1] == shown(text, width)


def test_prose_with_dashes_and_quotation_marks_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was half of the first visit to a memory of five hundred prompts."""
    monkeypatch.setattr(wrapping, "_clusters", None)
    assert shown("“Où est-il?” – asked Łukasz … said «nobody»", 16) == [
        "“Où est-il?” –",
        "asked Łukasz …",
        "said «nobody»",
    ]


class Counted(str):
    """A text that counts the characters that are copied of it."""

    copied = 0

    def __getitem__(self, place: object) -> str:
        piece = str.__getitem__(self, place)  # type: ignore[index]  # an index or a slice
        Counted.copied += len(piece)
        return piece


def test_a_line_is_not_copied_again_for_each_row_that_it_is_wrapped_to() -> None:
    """A chapter of one paragraph of a million characters took seconds."""
    Counted.copied = 0
    text = Counted("and then " * 2_000)
    assert len(wrap(text, 0, 40)) > 400
    assert Counted.copied < 10 * len(text)
