"""Patterns by which the server finds the texts that may have a word of a search (design 15)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from typing import Final
from unicodedata import name, normalize

_ANYTHING: Final = ".*"
_ALIKE: Final = {
    "i": "ıİ",
    "k": "\u212a",
    "s": "ſ",
    "в": "\u1c80",
    "д": "\u1c81",
    "о": "\u1c82",
    "с": "\u1c83",
    "т": "\u1c84\u1c85",
    "ъ": "\u1c86",
    "ѣ": "\u1c87",
    "ꙋ": "\u1c88",
}
"""Other letters that `re` takes for these where case does not count."""
MOST_PATTERNS: Final = 16
"""PostgreSQL caches 32 compiled expressions; of more words the longest tell most."""


def patterns_of(words: Iterable[str]) -> Sequence[str]:
    """Return the patterns of the longest words, at most `MOST_PATTERNS`, these first."""
    longest = sorted(set(words), key=lambda word: (-len(word), word))
    return [pattern_of(word) for word in longest[:MOST_PATTERNS]]


def pattern_of(word: str) -> str:
    """Return a regular expression that matches each text in which `re` finds a word in any case.

    Other texts may match too: letters that Unicode can write in several ways are not looked for, nor is what
    JSON writes otherwise. It has letters, classes and `.*` alone, so that it means the same to `re` and to
    PostgreSQL, whatever the language of the server.
    """
    parts: Iterable[str] = map(_pattern_of_letter, word)
    return "".join(_ANYTHING if part == _ANYTHING else "".join(same) for part, same in groupby(parts))


def _pattern_of_letter(letter: str) -> str:
    small, capital = letter.lower(), letter.upper()
    if not (letter.isalnum() and len(small) == len(capital) == 1) or not _has_one_form(letter):
        return _ANYTHING
    others = _ALIKE.get(small, "") + _same_ideographs().get(letter, "")
    forms = "".join(dict.fromkeys((small, capital, *others)))
    return forms if len(forms) == 1 else f"[{forms}]"


@cache
def _same_ideographs() -> Mapping[str, str]:
    """Return the other characters that Unicode has for an ideograph, which `composed` replaces by it."""
    same: dict[str, str] = {}
    for other in map(chr, chain(range(0xF900, 0xFAE0), range(0x2F800, 0x2FA1E))):
        letter = normalize("NFC", other)
        same[letter] = same.get(letter, "") + other
    return same


def _has_one_form(letter: str) -> bool:
    """Whether Unicode writes a letter in one way, and its capital in one."""
    is_whole = all(normalize("NFD", one) == one for one in (letter, letter.lower(), letter.upper()))
    return letter.isascii() or (is_whole and not name(letter, "GREEK").startswith("GREEK"))
