"""Letters and words of every script: patterns for regular expressions, and texts without case."""

import unicodedata
from typing import Final

from core.text.graphemes import composed

_SPELLED: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
SPELLED: Final = f"[{_SPELLED}]"
"""Matches a letter of Thai, Lao, Burmese or Khmer, which have no spaces between words."""
_CJK = r"\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
CJK: Final = f"[{_CJK}]"
"""Matches a character of Chinese or Japanese."""
UNSPACED: Final = f"[{_SPELLED}{_CJK}]"
"""Matches a character of a script that has no spaces between words."""
MARKS: Final = "".join(
    char for char in map(chr, range(0x300, 0x1D00)) if unicodedata.category(char)[0] == "M"
)
"""Accents and vowel signs, for a class: each belongs to the letter before it, which `re` does not know."""
LETTER: Final = rf"(?!{UNSPACED})[\w{MARKS}]"
"""Matches a letter, its accent or a digit in a script whose words have spaces between them."""
WORD_BEGINS: Final = rf"(?:(?<!{LETTER})|(?={UNSPACED}))"
"""Matches a place where a word may begin: without spaces, before each character."""
STOPS: Final = ".!?…؟۔।॥։"
"""Marks that end a sentence where white space follows; the wide ones of Chinese and Japanese need none."""
WORD: Final = rf"{SPELLED}{{1,4}}|{UNSPACED}|(?:{LETTER})+"
"""Matches a word as they are counted: a character of Chinese or Japanese, and of Thai, Lao, Burmese and Khmer
four, the mean of a word."""


def folded(text: str) -> str:
    """Return a text as it is searched: without case, each letter and its accent as one character.

    The Turkish “İ” is an “i” without a dot of its own.
    """
    if text.isascii():
        return text.casefold()
    return composed(composed(text).casefold()).replace("i\u0307", "i")
