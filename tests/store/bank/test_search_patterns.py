"""The server is asked for every text that a search may find in any case."""

import re
from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st

from core.engine.recall.words import matcher_of
from db.bank.letters import pattern_of

WORDS = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=6)


@given(WORDS, st.text(max_size=4), st.text(max_size=4))
def test_a_pattern_matches_each_text_in_which_a_search_finds_the_word(
    word: str, before: str, after: str
) -> None:
    matches = matcher_of(word)
    assert matches is not None
    for text in (
        word,
        word.upper(),
        word.lower(),
        word.swapcase(),
        f"{before} {word}{after}",
        before + after,
    ):
        for written in (text, normalize("NFD", text), normalize("NFC", text)):
            if matches(written):
                assert all(re.search(pattern_of(one), written, re.DOTALL) for one in matches.words)


def test_a_pattern_of_plain_letters_looks_for_each_of_them() -> None:
    assert pattern_of("Lamp7") == "[lL][aA][mM][pP]7"
    assert pattern_of("Ключ") == "[кК][лЛ][юЮ][чЧ]"
    assert pattern_of("灯") == "灯"
    assert pattern_of("豈") == "[豈\uf900]"
    assert pattern_of("cafés") == "[cC][aA][fF].*[sSſ]"
    assert pattern_of('it\'s "so"') == "[iIıİ][tT].*[sSſ].*[sSſ][oO].*"
