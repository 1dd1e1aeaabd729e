"""Cuts text at grapheme boundaries, so that no visible character is split, and composes letters (NFC).

Combining sequences, flags and emoji can have several code points. The rules follow Unicode's text
segmentation as far as the tables of the standard library allow.
"""

import unicodedata
from typing import Final

_ZWJ = "\u200d"
_SEARCH = 64
"""Maximum shift of a cut in code points; longer clusters are not text, and are cut anywhere."""

LONGEST_WORD: Final = 40
"""Characters of a word that is left out rather than cut; longer ones are texts of Chinese or Japanese."""


def is_safe_cut(text: str, position: int) -> bool:
    """Whether a cut of `text` before `position` splits no visible character."""
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if before == _ZWJ or _extends(after):
        return False
    if unicodedata.combining(before) == 9 and unicodedata.category(after) == "Lo":
        return False  # A virama joins two consonants of an Indic script.
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves_before(text, position) % 2 == 0
    return not (_is_hangul_jamo_tail(after) and _is_hangul(before))


def tail(text: str, length: int) -> str:
    """Return the end of `text`, at most `length` code points, from a safe cut on."""
    if length <= 0:
        return ""
    start = len(text) - length
    if start <= 0:
        return text
    for position in range(start, min(start + _SEARCH, len(text))):
        if is_safe_cut(text, position):
            return text[position:]
    return text[start:]


def head(text: str, length: int) -> str:
    """Return the beginning of `text`, at most `length` code points, up to a safe cut."""
    if length <= 0:
        return ""
    if length >= len(text):
        return text
    for position in range(length, max(length - _SEARCH, 0), -1):
        if is_safe_cut(text, position):
            return text[:position]
    return text[:length]


def without_cut_word(kept: str, text: str) -> str:
    """Return the beginning of a text without its last word, where that was cut."""
    rest, blank, word = kept.rpartition(" ")
    is_cut = len(kept) < len(text) and not text[len(kept)].isspace()
    return rest if is_cut and blank and len(word) <= LONGEST_WORD else kept


def without_begun_word(kept: str, text: str) -> str:
    """Return the end of a text without its first word, where that was cut."""
    word, blank, rest = kept.partition(" ")
    is_cut = len(kept) < len(text) and not text[len(text) - len(kept) - 1].isspace()
    return rest if is_cut and blank and len(word) <= LONGEST_WORD else kept


def _extends(char: str) -> bool:
    return (
        char in "\u200c\u200d"
        or unicodedata.category(char).startswith("M")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags, as in the flag of Scotland
        or char in "\uff9e\uff9f"  # half-width kana voicing marks
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, position: int) -> int:
    start = position
    while start > 0 and position - start < _SEARCH and _is_flag_half(text[start - 1]):
        start -= 1
    return position - start


def _is_hangul_jamo_tail(char: str) -> bool:
    return "\u1160" <= char <= "\u11ff"


def _is_hangul(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff" or "\uac00" <= char <= "\ud7a3"


_FIRST_ACCENT: Final = "\u0300"
"""The first character that may be an accent of the letter before it."""

Span = tuple[int, int]


def composed(text: str) -> str:
    """Return a text with each letter and its accents as one character, where Unicode has one for them."""
    return unicodedata.normalize("NFC", text)


def is_composed(text: str) -> bool:
    """Whether `composed` would return the text as it is."""
    return unicodedata.is_normalized("NFC", text)


def composed_with_places(text: str) -> tuple[str, list[Span]]:
    """Return a text as `composed` does, and for each character its start and end in `text`.

    A letter that was one character and a sign alone stays as it is: composition only joins.
    """
    kept: list[str] = []
    places: list[Span] = []
    for place, character in enumerate(text):
        if character >= _FIRST_ACCENT and kept:
            joined = unicodedata.normalize("NFC", kept[-1] + character)
            if len(joined) == 1:
                kept[-1], places[-1] = joined, (places[-1][0], place + 1)
                continue
        kept.append(character)
        places.append((place, place + 1))
    return "".join(kept), places
