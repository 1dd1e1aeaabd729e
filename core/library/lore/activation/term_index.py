"""Finds which of many terms a text has, and remembers it, so that each text is searched once.

Whole words are looked up among the words of a text. Every other term has one of its pieces as its mark: that
which the fewest others have. A text is cut into its pieces, and only terms whose mark is among them are
looked for. The work is that of the text, not of the terms.
"""

import re
from collections import OrderedDict
from typing import Final

from core.library.lore.activation.keys import Expression, Term, is_in, lowered, place_of
from core.text.graphemes import composed
from core.text.letters import LETTER

PIECES: Final = (6, 3)
"""Lengths of marks; a term has one of the first length that fits into it."""
_MARKED: Final = 200
"""Letters at the beginning of a term among which its mark is."""
MOST_TEXTS: Final = 4_096
# A word of ASCII ends also at a letter of a script without spaces, as a term does.
_WORD = re.compile(rf"(?:{LETTER})+")
_FEW_NEW: Final = 64
"""Up to so many terms that came since are looked for one by one."""


class SearchedText:
    """A text, composed (NFC), and what was found in it.

    `hits` are the numbers of its terms; `expressions` has what `matches` found, by whether the text is the
    last one and by the expression as its author wrote it.
    """

    __slots__ = ("expressions", "found_up_to", "hits", "lowered", "raw")

    def __init__(self, raw: str) -> None:
        self.raw = composed(raw)
        self.lowered = lowered(self.raw)
        self.hits: set[int] = set()
        self.found_up_to = 0
        self.expressions: tuple[dict[str, bool], dict[str, bool]] = ({}, {})

    def matches(self, expression: Expression, seconds: float, *, is_last: bool) -> bool:
        """Whether an expression that cannot reach beyond a message matches it; raise TimeoutError.

        Behind each text but the last there is a line end.
        """
        text = f"\x01{self.raw}" if is_last else f"\x01{self.raw}\n"
        found = self.expressions[is_last][expression.shown] = place_of(expression, text, seconds) is not None
        return found


class TermIndex:
    """All terms, each with a number, and the texts that were searched for them."""

    def __init__(self) -> None:
        self._terms: list[Term] = []
        self._numbers: dict[Term, int] = {}
        # By whether case counts.
        self._groups = (_Group(), _Group())
        self._texts: OrderedDict[tuple[str, str], SearchedText] = OrderedDict()

    def __len__(self) -> int:
        return len(self._terms)

    def number_of(self, term: Term) -> int:
        """Return the number of a term, which is added if it is new."""
        number = self._numbers.get(term)
        if number is not None:
            return number
        number = self._numbers[term] = len(self._terms)
        self._terms.append(term)
        self._groups[term.is_case_sensitive].add(term, number)
        return number

    def searched(self, text: str, name: str = "") -> SearchedText:
        """Return what a text under a name has; searched at once if it is new, or for the terms that are."""
        # The same object is found without a look at its letters.
        known = self._texts.get((name, text))
        if known is None:
            known = self._texts[name, text] = SearchedText(f"{name}: {text}" if name else text)
            if len(self._texts) > MOST_TEXTS:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end((name, text))
        if known.found_up_to < len(self._terms):
            self._search(known)
        return known

    def _search(self, text: SearchedText) -> None:
        new = len(self._terms) - text.found_up_to
        if new <= _FEW_NEW:
            candidates = range(text.found_up_to, len(self._terms))
            text.hits.update(number for number in candidates if self._is_in(number, text))
        else:
            for group, searched in zip(self._groups, (text.lowered, text.raw), strict=True):
                text.hits.update(group.words_in(searched))
                candidates_in = group.candidates_in(searched)
                text.hits.update(number for number in candidates_in if self._is_in(number, text))
        text.found_up_to = len(self._terms)

    def _is_in(self, number: int, text: SearchedText) -> bool:
        term = self._terms[number]
        return is_in(term, text.raw if term.is_case_sensitive else text.lowered)


class _Group:
    """The terms whose case counts, or those whose case does not."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._marks: dict[int, dict[str, list[int]]] = {length: {} for length in PIECES}
        self._short: list[int] = []

    def add(self, term: Term, number: int) -> None:
        """Add a term under its mark."""
        if term.is_whole_word and term.text.isascii() and term.text.isalnum():
            self._words[term.text] = number
            return
        length = next((length for length in PIECES if length <= len(term.text)), 0)
        if not length:
            self._short.append(number)
            return
        marks = self._marks[length]
        mark = min(_pieces(term.text[:_MARKED], length), key=lambda piece: len(marks.get(piece, ())))
        marks.setdefault(mark, []).append(number)

    def words_in(self, text: str) -> list[int]:
        """Return the whole words that are in a text."""
        words = self._words
        return [words[word] for word in set(_WORD.findall(text)) if word in words] if words else []

    def candidates_in(self, text: str) -> list[int]:
        """Return the other terms that may be in a text."""
        found = list(self._short)
        for length, marks in self._marks.items():
            if marks:
                for piece in set(_pieces(text, length)):
                    if piece in marks:
                        found += marks[piece]
        return found


def _pieces(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(len(text) - length + 1)]
