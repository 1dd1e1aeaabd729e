"""One activation, as SillyTavern does it: scan, add what is found, and scan again with the texts of that.

In each pass every entry that is not settled is looked at in a fixed order of rules. Those that would become
active are thinned out by groups, chance and budget, in this order, and the rest is active for good.

Unlike there, what the budget left out never feeds recursion; texts that do not feed recursion count for the
budget as well; a probability of 0 never holds; entries that wait for recursion wait where it is off.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from core.library.lore.activation.buffer import ScanBuffer
from core.library.lore.activation.compiled import LASTING, CompiledEntry
from core.library.lore.activation.result import ActiveEntry, Outcome, Reason
from core.library.lore.activation.rules import Rules, Verdict
from core.library.lore.activation.scene import ActivationInput
from core.library.lore.activation.thinning import Budget, Candidate, losers, score
from core.library.lore.activation.timers import NO_TIMER, Timer, activations, timer_of
from core.library.macros import Draws, drawn, expand

MOST_PASSES: Final = 200
"""Scans of one activation at most; longer chains of recursion end there."""


class Scan:
    """One activation; `run` it once, then ask for its results."""

    def __init__(
        self,
        entries: Sequence[CompiledEntry],
        users: Mapping[int, list[int]],
        always: Iterable[int],
        deepest: int,
        levels: Sequence[int],
    ) -> None:
        self._entries = entries
        self._users = users
        self._open = set(always)
        """The ranks of entries that are looked at in the next pass."""
        self._deepest = deepest
        self._levels = list(levels)
        self._active: dict[int, Verdict] = {}
        self._refused: dict[int, Verdict] = {}
        self._final: set[int] = set()
        self._groups: dict[str, str] = {}
        self._texts: dict[int, str] = {}

    def run(
        self,
        buffer: ScanBuffer,
        scene: ActivationInput,
        budget: int | None,
        count_tokens: Callable[[str], int],
        ranks: Mapping[tuple[str, str], int],
    ) -> None:
        """Activate all that is to be active."""
        self._buffer, self._scene = buffer, scene
        self._seed = (scene.seed, str(scene.message_count))
        self._timers = self._timers_at(scene, ranks)
        self._rules = Rules(buffer, scene)
        self._budget = Budget(budget, count_tokens)
        self._open.update(self._timers)
        self._open_for(buffer.other_terms())
        self._open_for(buffer.reach(self._deepest))
        levels = self._levels
        self._rules.level = levels.pop(0) if levels else 0
        for _ in range(MOST_PASSES):
            feeding = list(filter(self._feeds, self._pass()))
            if self._budget.is_used_up or not (feeding or levels):
                return
            if not feeding:
                self._rules.level = levels.pop(0)
            self._feed(feeding)
            self._rules.is_recursion = True

    def _timers_at(self, scene: ActivationInput, ranks: Mapping[tuple[str, str], int]) -> dict[int, Timer]:
        """Return the timers of entries, by their ranks, as far as they say something now."""
        found = {}
        for place, history in activations(scene.log, scene.message_count).items():
            rank = ranks.get(place)
            if rank is not None and (digest := self._entries[rank].digest):
                compiled = self._entries[rank]
                timer = timer_of(compiled.entry, digest, history, scene.message_count)
                if timer.until or (timer.was_active and not compiled.decorators.flags.isdisjoint(LASTING)):
                    found[rank] = timer
        return found

    def _verdict(self, rank: int) -> Verdict:
        return self._rules.verdict(self._entries[rank], self._timers.get(rank, NO_TIMER))

    def _open_for(self, terms: Iterable[int]) -> None:
        for term in terms:
            self._open.update(self._users.get(term, ()))

    def _pass(self) -> list[int]:
        """Look at all open entries; return the ranks of those that are active now."""
        self._open -= self._final
        found: dict[int, Verdict] = {}
        for rank in sorted(self._open):
            verdict = self._verdict(rank)
            if verdict.is_active:
                found[rank] = verdict
            else:
                self._refused[rank] = verdict
        new = self._admitted(self._chosen(found))
        for rank in new:
            self._active[rank] = found[rank]
            self._refused.pop(rank, None)
            self._final.add(rank)
            for group in self._entries[rank].entry.groups:
                self._groups.setdefault(group, self._entries[rank].entry.uid)
        return new

    def _chosen(self, found: Mapping[int, Verdict]) -> list[int]:
        """Return those that groups and chance leave, in the order of the budget: sticky ones first."""
        order = sorted(
            found, key=lambda rank: (not found[rank].is_sticky, self._entries[rank].is_dropped_first, rank)
        )
        lost = self._lost(order, found)
        left = []
        for rank in order:
            if rank in lost:
                self._refused[rank] = Verdict(Reason.GROUP, detail=lost[rank])
            elif found[rank].is_sticky or self._is_lucky(self._entries[rank]):
                left.append(rank)
            else:
                self._refuse(rank, Reason.PROBABILITY)
        return left

    def _lost(self, order: Sequence[int], found: Mapping[int, Verdict]) -> dict[int, str]:
        candidates = [
            Candidate(rank, self._entries[rank], found[rank].is_sticky, partial(self._score, rank))
            for rank in order
            if self._entries[rank].entry.groups
        ]
        if not candidates:
            return {}
        return losers(candidates, self._groups.get, self._seed)

    def _score(self, rank: int) -> int:
        compiled = self._entries[rank]
        return score(
            self._rules.found(compiled.keys, compiled),
            self._rules.found(compiled.secondary, compiled),
            compiled.entry.logic,
        )

    def _is_lucky(self, compiled: CompiledEntry) -> bool:
        entry = compiled.entry
        if not entry.uses_probability or entry.probability >= 100:
            return True
        place = (compiled.book.label, entry.uid)
        return drawn(*self._seed, "probability", *place) * 100 < entry.probability

    def _admitted(self, ranks: list[int]) -> list[int]:
        """Return those that the budgets have room for."""
        wanted = [(self._entries[rank], self._text(rank)) for rank in ranks]
        refusals = self._budget.refusals(wanted)
        for rank, reason in zip(ranks, refusals, strict=True):
            if reason is not None:
                self._refuse(rank, reason)
        return [rank for rank, reason in zip(ranks, refusals, strict=True) if reason is None]

    def _refuse(self, rank: int, reason: Reason) -> None:
        self._refused[rank] = Verdict(reason)
        self._final.add(rank)

    def _text(self, rank: int, *, shows_hidden: bool = False) -> str:
        compiled = self._entries[rank]
        if not compiled.has_macros:
            return compiled.text
        if rank in self._texts and not shows_hidden:
            return self._texts[rank]
        draws = Draws("\x1f".join((self._seed[0], compiled.book.label, compiled.entry.uid)), self._seed[1])
        if shows_hidden:
            return expand(compiled.text, self._scene.names, draws, shows_hidden=True)
        self._texts[rank] = expand(compiled.text, self._scene.names, draws)
        return self._texts[rank]

    def _feeds(self, rank: int) -> bool:
        compiled = self._entries[rank]
        return compiled.is_recursive and not compiled.entry.prevents_recursion

    def _feed(self, ranks: list[int]) -> None:
        """Put the texts of new entries where others find their keys."""
        for rank in ranks:
            text = self._text(rank, shows_hidden=True)
            self._open_for(self._buffer.add_recursion(self._entries[rank].entry.uid, text))

    @property
    def refused(self) -> list[int]:
        """The ranks of the entries that were looked at and are not active."""
        return sorted(self._refused)

    def outcome(self, rank: int) -> Outcome:
        """Return what became of the entry of this rank."""
        compiled = self._entries[rank]
        verdict = self._active.get(rank) or self._refused.get(rank)
        if verdict is None:
            # No text concerned it, so the rules that come before its keys tell why.
            self._rules.is_recursion = False
            verdict = self._verdict(rank)
        is_active = rank in self._active
        return Outcome(
            book=compiled.book.label,
            uid=compiled.entry.uid,
            name=compiled.entry.name,
            is_active=is_active,
            reason=verdict.reason,
            key=verdict.key,
            message=verdict.hit.message,
            parent=verdict.hit.parent,
            detail=verdict.detail or verdict.hit.detail,
            tokens=self._budget.tokens(self._text(rank)) if is_active else 0,
        )

    def result(self) -> tuple[ActiveEntry, ...]:
        """Return the active entries; within one place lower order first, and of equals the later one."""
        ranks = sorted(
            self._active,
            key=lambda rank: (self._entries[rank].entry.position, self._entries[rank].entry.order, -rank),
        )
        found = []
        for rank in ranks:
            compiled = self._entries[rank]
            found.append(
                ActiveEntry(self.outcome(rank), self._text(rank), compiled.place, compiled.entry.order)
            )
        return tuple(found)
