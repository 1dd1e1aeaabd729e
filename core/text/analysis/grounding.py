"""Finds names and numbers in a text that its sources do not have.

A name is a word with a capital letter. At the beginning of a sentence any word has one, so there it is a
name unless the sources have the word in whatever case, or it is one of the usual English beginnings.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Self

from core.text.graphemes import composed
from core.text.letters import LETTER, UNSPACED

_LETTERS: Final = rf"(?:(?![\d_]){LETTER})+"
_WORD: Final = re.compile(rf"{UNSPACED}|{_LETTERS}(?:['’-]{_LETTERS})*")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_ENDS: Final = ".!?:;…"
_DASHES: Final = "—–"
_QUOTES: Final = "\"'“”‘’«»("
_AROUND: Final = " ,;-"
_OWNED: Final = re.compile("['’]s?$")
_COUNTED: Final = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
_NAMES_OF_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS: Final = {name: number for number, name in enumerate(_NAMES_OF_TENS.split(), start=2)}
_COUNTS: Final = (
    {name: str(number) for number, name in enumerate(_COUNTED.split(), start=2)}
    | {name: str(10 * number) for name, number in _TENS.items()}
    | {"dozen": "12", "hundred": "100", "thousand": "1000", "million": "1000000"}
)
_DIGITS: Final = {"one": "1"} | {name: digit for name, digit in _COUNTS.items() if len(digit) == 1}
_OPENERS: Final = """
a after again all also although an and another any as at attempted because before both but by despite during
each eventually every everyone finally for from he her here his how however i if in instead into is it its
later many meanwhile most my near no nothing now of on once one only or others our outside over several
she since so some someone something still that the their then there these they this those though through to
together under unknown until we what when where while who why with without you your
"""
_BEGINNINGS: Final = frozenset(_OPENERS.split())


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of sources, in lower case, and their numbers; a number in words counts as its digits too."""

    words: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return the vocabulary of these texts."""
        words: set[str] = set()
        numbers: set[str] = set()
        for text in map(composed, texts):
            found = [_key(word[0]) for word in _WORD.finditer(text)]
            words.update(found, *(word.split("-") for word in found))
            numbers.update(map(_in_digits, _NUMBER.findall(text)), *map(_numbers_in, found))
        return cls(frozenset(words), frozenset(numbers))

    def unknown_in(self, text: str, *, is_name: bool = False, is_paraphrase: bool = False) -> Iterator[str]:
        """Yield the names and numbers of `text` that the sources do not have.

        In a name every word counts. A paraphrase may begin a sentence with any word.
        """
        text = composed(text)
        for number in _NUMBER.findall(text):
            if _in_digits(number) not in self.numbers:
                yield number
        for found in _WORD.finditer(text):
            word, key = found[0], _key(found[0])
            if counted := _numbers_in(key):
                if not self.numbers.issuperset(counted):
                    yield word
            elif key in self.words:
                continue
            elif is_name or (
                word[0].isupper()
                and not ((is_paraphrase or key in _BEGINNINGS) and _is_at_beginning(text, found.start()))
            ):
                yield word

    def told_part(self, name: str) -> str:
        """Return a name without the capitalised words and the numbers that the sources do not have.

        An article or preposition at its end goes too; it may be empty.
        """
        words = composed(name).split()
        kept = [word for word in words if not any(self.unknown_in(word))]
        if len(kept) == len(words):
            return name
        while kept and _key(kept[-1]) in _BEGINNINGS:
            kept.pop()
        return _OWNED.sub("", " ".join(kept).strip(_AROUND))


def _is_at_beginning(text: str, start: int) -> bool:
    """Whether a word begins a sentence: only what is between it and the word before is looked at."""
    place = start
    while place and (text[place - 1].isspace() or text[place - 1] in _QUOTES):
        place -= 1
    gap, before = text[place:start], text[place - 1 : place]
    return not before or "\n" in gap or before in _ENDS or (before in _DASHES and gap[:1].isspace())


def _in_digits(number: str) -> str:
    """Return a number in the digits 0 to 9: there are others, such as full-width and Arabic ones."""
    return "".join(char if char.isascii() else str(unicodedata.decimal(char)) for char in number)


def _numbers_in(word: str) -> list[str]:
    """Return the numbers of a word: that of “five”, of “thirty-five”, or those of parts as in “five-day”."""
    first, *rest = parts = word.split("-")
    if first in _TENS and len(rest) == 1 and rest[0] in _DIGITS:
        return [f"{_TENS[first]}{_DIGITS[rest[0]]}"]
    return [_COUNTS[part] for part in parts if part in _COUNTS]


def _key(word: str) -> str:
    word = word.casefold().replace("’", "'")
    return word.removesuffix("'s").removesuffix("'")
