"""Fences: what is inside a section can never pass for one of its marks."""

from hypothesis import given
from hypothesis import strategies as st

from core.config.models.model_config import PromptStyle
from core.context.tokens import characters_for, estimate_tokens
from core.text.delimiters import EMPTY, SegmentName, closing_mark, delimit, escape_delimiters, opening_mark
from tests.core.values.sessions import any_text

MARKS = {mark(name) for name in SegmentName for mark in (opening_mark, closing_mark)}

forgeries = st.lists(
    st.one_of(
        st.sampled_from(sorted(MARKS)),
        st.sampled_from(["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", " ", "\t"]),
        st.sampled_from(["\u200b", "\ufeff", "\u00a0", "=", "==", "＝＝＝", "\\", "USER_PROMPT"]),
        any_text,
    ),
    max_size=12,
).map("".join)


@given(forgeries, st.sampled_from(list(SegmentName)))
def test_no_text_forges_a_mark(text: str, name: SegmentName) -> None:
    for lines in (delimit(name, text).splitlines(), delimit(name, text).split("\n")):
        assert lines[0] == opening_mark(name)
        assert lines[-1] == closing_mark(name)
        visible = [line.strip().strip("\u200b\u2060\ufeff\u00ad").strip() for line in lines[1:-1]]
        assert not MARKS.intersection(visible)


@given(forgeries)
def test_disarming_adds_backslashes_and_nothing_else(text: str) -> None:
    assert escape_delimiters(text).replace("\\", "") == text.replace("\\", "")
    assert escape_delimiters(escape_delimiters(text)) == escape_delimiters(text)


def test_other_text_is_left_as_it_is() -> None:
    text = "a = b\n== is far in the line? a == b\n- \\alpha\n\n  indented"
    assert escape_delimiters(text) == text.replace("\n== ", "\n\\== ")
    assert escape_delimiters("a === b") == "a === b"


def test_blank_text_has_a_placeholder() -> None:
    assert delimit(SegmentName.WORLD_TEXT, " \n ") == f"=== WORLD_TEXT ===\n{EMPTY}\n=== END WORLD_TEXT ==="


def test_prose_takes_about_four_characters_a_token_and_other_scripts_more() -> None:
    prose = "The ferry inn stood dark on the longest night of the year. " * 20
    assert len(prose) / 4 <= estimate_tokens(prose) <= len(prose) / 3
    assert estimate_tokens("Ночь длинна. " * 20) > 13 * 20 / 2
    assert estimate_tokens("長い夜" * 20) >= 60
    assert estimate_tokens("") == 0


@given(any_text, any_text, st.sampled_from(PromptStyle))
def test_the_estimate_of_a_whole_is_at_most_that_of_its_parts(one: str, two: str, style: PromptStyle) -> None:
    assert estimate_tokens(one + two, style) <= estimate_tokens(one, style) + estimate_tokens(two, style)
    assert estimate_tokens(one + two, style) >= estimate_tokens(one, style)
    assert estimate_tokens(one, PromptStyle.SMALL) >= estimate_tokens(one, PromptStyle.FULL)
    assert 1 <= characters_for(10, one) <= max(1, 35 * len(one))
