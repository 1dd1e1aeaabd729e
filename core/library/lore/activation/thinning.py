"""Leaves out entries that would become active: but for one of an inclusion group, and for want of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.library.lore.activation.compiled import CompiledEntry
from core.library.lore.activation.result import Reason
from core.library.lore.book import Logic
from core.library.macros import drawn


class Budget:
    """Counts the tokens that lore may take: of all books together, and of a book with a budget of its own."""

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


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that would become active. `score` counts its keys in the text."""

    rank: int
    compiled: CompiledEntry
    is_sticky: bool
    score: Callable[[], int]


def losers(
    candidates: Sequence[Candidate], taken: Callable[[str], str | None], seed: Sequence[str]
) -> dict[int, str]:
    """Return the ranks that lose, each with the winner over it.

    `taken` names the entry of a group that is active already.
    """
    lost: dict[int, str] = {}
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for group in candidate.compiled.entry.groups:
            groups.setdefault(group, []).append(candidate)
    for group, members in groups.items():
        left = [member for member in members if member.rank not in lost]
        lost |= _lost_in(group, left, taken(group), seed)
    return lost


def _lost_in(group: str, members: list[Candidate], active: str | None, seed: Sequence[str]) -> dict[int, str]:
    sticky = [member for member in members if member.is_sticky]
    if sticky:
        return _others(members, sticky)
    lost = _outscored(members)
    members = [member for member in members if member.rank not in lost]
    if active is not None:
        return lost | {member.rank: f"entry {active} is active already" for member in members}
    if len(members) < 2:
        return lost
    preferred = [member for member in members if member.compiled.entry.is_group_override]
    winner = min(preferred, key=lambda member: member.rank) if preferred else _drawn(members, group, seed)
    return lost | _others(members, [winner])


def _others(members: list[Candidate], winners: list[Candidate]) -> dict[int, str]:
    names = ", ".join(winner.compiled.entry.uid for winner in winners)
    return {member.rank: f"entry {names} was" for member in members if member not in winners}


def _outscored(members: list[Candidate]) -> dict[int, str]:
    scored = [member for member in members if member.compiled.entry.group_scoring]
    if not scored or len(members) < 2:
        return {}
    points = {member.rank: member.score() for member in members}
    most = max(points.values())
    return {
        member.rank: f"it has {points[member.rank]} of {most} keys"
        for member in scored
        if points[member.rank] < most
    }


def _drawn(members: list[Candidate], group: str, seed: Sequence[str]) -> Candidate:
    """Return the winner by weight; of weights that are all 0, the first."""
    total = sum(member.compiled.entry.group_weight for member in members)
    at = drawn(*seed, "group", group) * total
    for member in members:
        at -= member.compiled.entry.group_weight
        if at < 0:
            return member
    return members[0]


def score(primary: Sequence[bool], secondary: Sequence[bool], logic: Logic) -> int:
    """Return the score of an entry from which of its keys are in the text."""
    if not primary:
        return 0
    if not secondary or logic not in (Logic.AND_ANY, Logic.AND_ALL):
        return sum(primary)
    if logic is Logic.AND_ALL and not all(secondary):
        return sum(primary)
    return sum(primary) + sum(secondary)
