"""Where a text may be cut: never inside what a reader sees as one character, never far from where asked."""

import pytest

from core.text.graphemes import head, is_safe_cut, tail

ACUTE = "\u0301"
DAY, EUROPE = "\U0001f1e9", "\U0001f1ea"
"""Two halves of a flag."""
WHOLE = {
    "a line end": "\r\n",
    "an accent": f"e{ACUTE}",
    "a family": "👩\u200d👩",
    "what joins a family": "👩\u200d",
    "what keeps apart": "a\u200c",
    "the lightest skin": "👍\U0001f3fb",
    "the darkest skin": "👍\U0001f3ff",
    "the first tag": "🏴\U000e0020",
    "the last tag": "🏴\U000e007f",
    "a voiced kana": "ｶ\uff9e",
    "a half-voiced kana": "ﾊ\uff9f",
    "two consonants of Hindi": "\u094dष",
    "a flag": DAY + EUROPE,
    "the first and the last half of a flag": "\U0001f1e6\U0001f1ff",
    "a syllable of Korean": "\u1100\u1160",
    "a syllable and its end": "\uac00\u11a8",
    "the last syllable and the last end": "\ud7a3\u11ff",
}
APART = {
    "letters": "ab",
    "line ends the other way round": "\n\r",
    "a return and a letter": "\ra",
    "a letter and a line end": "a\n",
    "an accent and a letter": f"{ACUTE}e",
    "an accent and a letter of Hindi": f"{ACUTE}ष",
    "a virama and a letter of ours": "\u094da",
    "what stands before the skins": "👍\U0001f3fa",
    "what stands after the skins": "👍\U0001f400",
    "what stands before the tags": "🏴\U000e001f",
    "what stands after the tags": "🏴\U000e0080",
    "what stands before the flags": "\U0001f1e5\U0001f1e6",
    "what stands after the flags": "\U0001f1ff\U0001f200",
    "half a flag and a letter": f"{DAY}a",
    "a letter and half a flag": f"a{DAY}",
    "two syllables": "\uac00\uac00",
    "what stands before the tails": "\u1100\u115f",
    "what stands after the tails": "\u1100\u1200",
    "what stands before the heads": "\u10ff\u1161",
    "what stands after the heads": "\u1200\u1161",
    "what stands before the syllables": "\uabff\u1161",
    "what stands after the syllables": "\ud7a4\u1161",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_what_is_seen_as_one_character_is_not_cut(text: str) -> None:
    assert not is_safe_cut(text, len(text) - 1)


@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_two_characters_may_be_parted(text: str) -> None:
    assert is_safe_cut(text, 1)


@pytest.mark.parametrize("position", [-1, 0, 2, 3])
def test_a_cut_at_an_end_parts_nothing(position: int) -> None:
    assert is_safe_cut(f"e{ACUTE}", position)
    assert is_safe_cut(f"{ACUTE}e", position)


def test_flags_in_a_row_are_parted_between_two_flags() -> None:
    flags = (DAY + EUROPE) * 3
    assert [is_safe_cut(flags, position) for position in range(1, 6)] == [False, True, False, True, False]
    assert [is_safe_cut(f"a{flags}", position) for position in range(1, 5)] == [True, False, True, False]


@pytest.mark.parametrize(
    ("length", "begins", "ends"),
    [(-1, "", ""), (0, "", ""), (1, "a", "d"), (3, "abc", "bcd"), (4, "abcd", "abcd"), (5, "abcd", "abcd")],
)
def test_as_much_is_kept_as_was_asked_for(length: int, begins: str, ends: str) -> None:
    assert head("abcd", length) == begins
    assert tail("abcd", length) == ends


def test_a_cut_moves_to_where_it_tears_nothing_and_keeps_less_for_it() -> None:
    assert head(f"xe{ACUTE}y", 2) == "x"
    assert tail(f"xe{ACUTE}y", 2) == "y"
    assert head("👩\u200d👩", 2) == "👩\u200d"  # nothing before it: cut where it stands


def test_a_cut_moves_by_63_places_at_most() -> None:
    text = "abc" + "x" + ACUTE * 63 + "def"
    assert tail(text, 3 + 63) == "def"
    assert head(text, 3 + 63) == "abc"
    longer = "abc" + "x" + ACUTE * 64 + "def"
    assert tail(longer, 3 + 64) == ACUTE * 64 + "def"
    assert head(longer, 3 + 64) == longer[: 3 + 64]
    assert not is_safe_cut(DAY * 70, 63)
    assert is_safe_cut(DAY * 70, 65)
