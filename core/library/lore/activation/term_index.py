"""Finds which of many terms a text has, and remembers it, so that each text is searched once.

Each term has one of its three-letter pieces as its mark: that which the fewest others have. A text is cut
into its pieces, and only terms whose mark is among them are looked for. The work is that of the text, not of
the terms.
"""

from collections import OrderedDict
from typing import Final

from core.library.lore.activation.keys import Expression, Term, is_in, place_of

PIECE: Final = 3
MOST_TEXTS: Final = 4_096
_FEW_NEW: Final = 64
"""Up to so many terms that came since are looked for one by one."""


class SearchedText:
    """A text and what was found in it. `hits` are the numbers of its terms."""

    __slots__ = ("_expressions", "found_up_to", "hits", "lowered", "raw")

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.lowered = raw.lower()
        self.hits: set[int] = set()
        self.found_up_to = 0
        self._expressions: dict[Expression, bool] = {}

    def matches(self, expression: Expression, seconds: float) -> bool:
        """Whether an expression that cannot reach beyond a message matches it; raise TimeoutError."""
        known = self._expressions.get(expression)
        if known is None:
            known = place_of(expression, f"\x01{self.raw}\n", seconds) is not None
            self._expressions[expression] = known
        return known


class TermIndex:
    """All terms, each with a number, and the texts that were searched for them."""

    def __init__(self) -> None:
        self._terms: list[Term] = []
        self._numbers: dict[Term, int] = {}
        # By whether case counts: the terms of each mark, and those that are too short for one.
        self._marks: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
        self._short: tuple[list[int], list[int]] = ([], [])
        self._texts: OrderedDict[str, SearchedText] = OrderedDict()

    def __len__(self) -> int:
        return len(self._terms)

    def number_of(self, term: Term) -> int:
        """Return the number of a term, which is added if it is new."""
        number = self._numbers.get(term)
        if number is not None:
            return number
        number = self._numbers[term] = len(self._terms)
        self._terms.append(term)
        if len(term.text) < PIECE:
            self._short[term.is_case_sensitive].append(number)
            return number
        marks = self._marks[term.is_case_sensitive]
        pieces = (term.text[at : at + PIECE] for at in range(len(term.text) - PIECE + 1))
        mark = min(pieces, key=lambda piece: len(marks.get(piece, ())))
        marks.setdefault(mark, []).append(number)
        return number

    def searched(self, text: str) -> SearchedText:
        """Return what a text has; searched at once if it is new, or for the terms that are."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = SearchedText(text)
            if len(self._texts) > MOST_TEXTS:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(text)
        if known.found_up_to < len(self._terms):
            self._search(known)
        return known

    def _search(self, text: SearchedText) -> None:
        new = len(self._terms) - text.found_up_to
        if new <= _FEW_NEW:
            candidates = list(range(text.found_up_to, len(self._terms)))
        else:
            candidates = self._candidates(text.lowered, 0) + self._candidates(text.raw, 1)
        for number in candidates:
            term = self._terms[number]
            if is_in(term, text.raw if term.is_case_sensitive else text.lowered):
                text.hits.add(number)
        text.found_up_to = len(self._terms)

    def _candidates(self, text: str, which: int) -> list[int]:
        marks = self._marks[which]
        found = list(self._short[which])
        if marks:
            pieces = {text[at : at + PIECE] for at in range(len(text) - PIECE + 1)}
            for piece in pieces:
                if piece in marks:
                    found += marks[piece]
        return found
