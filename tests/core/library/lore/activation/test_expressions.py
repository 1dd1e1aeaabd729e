"""Which plain texts a regular expression needs, by which it is found without being tried on every text."""

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.lore.activation.keys import MOST_NEEDED, Expression, Term, is_in, needed_terms, read_key
from core.library.lore.activation.term_index import TermIndex


def needed(pattern: str, flags: str = "") -> list[str]:
    return [term.text for term in needed_terms(Expression("", pattern, flags, True, None))]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"\blamp\w*\b", ["lamp"]),
        (r"Lamps?", ["Lamp"]),
        (r"old\s+lamp", ["lamp"]),
        (r"lam+ps", ["lam"]),
        (r"l.mp", []),
        (r"lamp*x{0,3}y{2}", ["lam"]),
        (r"lamp{e<=2}", []),
        (r"lamp|ship", ["lamp", "ship"]),
        (r"lamp|lamp", ["lamp"]),
        (r"lamp|x", []),
        (r"lamp|", []),
        (r"\b(?:lamp|lantern)s?\b", ["lamp", "lantern"]),
        (r"(?<light>lamp|lantern)", ["lamp", "lantern"]),
        (r"l(?:amp|antern)", ["amp", "antern"]),
        (r"(lamp)?", []),
        (r"(lamp|ship){0,2}", []),
        (r"(lamp|ship)+", ["lamp", "ship"]),
        (r"(?:old |new )?lamp(?:post|light)", ["lamp"]),
        (r"((lamp|ship)|(sea|harbour))", ["lamp", "ship", "sea", "harbour"]),
        (r"(?<!\w)lamp(?!post)", ["lamp"]),
        (r"(?=lamp)\w+", []),
        (r"[Ll]antern[s]?", ["antern"]),
        (r"[lamp]", []),
        (r"[(|]lamp[)]", ["lamp"]),
        (r"[[:alpha:]lamp]", []),
        (r"a\x41bcd", []),
        (r"\U00000041bcd", []),
        (r"(?i)lamp", []),
        (r"(?>lamp|ship)", []),
        (r"маяк|порт", ["маяк", "порт"]),
        (r"λόγος", []),
        ("|".join(f"key{number}" for number in range(MOST_NEEDED + 1)), []),
    ],
)
def test_the_texts_that_an_expression_needs_are_known_where_they_are_certain(
    pattern: str, texts: list[str]
) -> None:
    assert needed(pattern) == texts


def test_a_text_is_looked_for_in_any_case_where_the_expression_is() -> None:
    [term] = needed_terms(Expression("", r"\bLamps?", "i", True, None))
    assert term == Term("lamp", False, False)


LETTERS = st.text(st.sampled_from("abcAB é灯"), min_size=2, max_size=5)
PATTERNS = st.recursive(
    LETTERS | st.sampled_from([r"\b", r"\w", r"\s", ".", "[ab]", "[^a]", r"\."]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=4).map(lambda some: f"(?:{'|'.join(some)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{0,2}", "{2}", "+?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
    ),
    max_leaves=12,
)


@given(PATTERNS, st.booleans(), st.data())
def test_no_match_of_an_expression_is_without_one_of_the_texts_that_it_needs(
    pattern: str, ignores_case: bool, data: st.DataObject
) -> None:
    terms = needed_terms(Expression("", pattern, "i" if ignores_case else "", True, None))
    text = data.draw(st.from_regex(re.compile(pattern, re.IGNORECASE if ignores_case else 0)))
    found = [is_in(term, text if term.is_case_sensitive else text.lower()) for term in terms]
    assert any(found) or not found


def test_a_book_of_classes_without_an_end_is_read_in_no_more_time_than_its_length() -> None:
    key = f"/{'[' * 3_990}/"
    for _ in range(20):
        assert read_key(key, uses_regex=True, is_case_sensitive=True, is_whole_word=True) is None


def test_a_key_as_long_as_a_file_takes_little_room_beside_it() -> None:
    term = Term("ab cd " * 100_000, is_case_sensitive=False, is_whole_word=False)
    index = TermIndex()
    tracemalloc.start()
    try:
        number = index.number_of(term)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert index.searched(f"Here is {term.text}.").hits == {number}
