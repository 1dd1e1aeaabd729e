"""The tokens that lore may take: of all books together, and of a book that has a budget of its own."""

from collections.abc import Callable, Sequence

from core.library.lore.activation.compiled import CompiledEntry
from core.library.lore.activation.result import Reason


class Budget:
    """Counts the tokens of the entries that were admitted."""

    def __init__(self, most: int | None, count_tokens: Callable[[str], int]) -> None:
        self._most = most
        self._count = count_tokens
        self._used = 0
        self._used_of: dict[str, int] = {}
        self.is_used_up = False
        """Whether an entry was left out; from then on only those are admitted that ignore the budget."""

    def tokens(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._count(text)

    def refusals(self, wanted: Sequence[tuple[CompiledEntry, str]]) -> list[Reason | None]:
        """Admit entries in their order; return why each is left out, or None."""
        dropped = self._dropped_by_books(wanted)
        found: list[Reason | None] = []
        for number, (compiled, text) in enumerate(wanted):
            reason = Reason.BOOK_BUDGET if number in dropped else self._refusal(compiled, text)
            found.append(reason)
        return found

    def _refusal(self, compiled: CompiledEntry, text: str) -> Reason | None:
        if compiled.entry.ignores_budget:
            self._used += self.tokens(text) if self._most is not None else 0
            return None
        if self._most is None:
            return None
        if self.is_used_up:
            return Reason.BUDGET
        tokens = self.tokens(text)
        if self._used + tokens >= self._most:
            self.is_used_up = True
            return Reason.BUDGET
        self._used += tokens
        return None

    def _dropped_by_books(self, wanted: Sequence[tuple[CompiledEntry, str]]) -> set[int]:
        """Return which are too much for their own books: those of lower priority, then of lower order."""
        dropped: set[int] = set()
        full: set[str] = set()
        numbers = [
            number
            for number, (compiled, _) in enumerate(wanted)
            if compiled.book.book.token_budget is not None and not compiled.entry.ignores_budget
        ]
        numbers.sort(key=lambda number: (-_priority(wanted[number][0]), number))
        for number in numbers:
            compiled, text = wanted[number]
            label, most = compiled.book.label, compiled.book.book.token_budget or 0
            used = self._used_of.get(label, 0) + self.tokens(text)
            if label in full or used > most:
                full.add(label)
                dropped.add(number)
            else:
                self._used_of[label] = used
        return dropped


def _priority(compiled: CompiledEntry) -> int:
    return 0 if compiled.entry.priority is None else compiled.entry.priority
