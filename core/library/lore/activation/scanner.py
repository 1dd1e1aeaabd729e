"""Activates entries: prepares books once, and then looks only at entries that the texts concern."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from core.library.lore.activation.buffer import Remembered, ScanBuffer
from core.library.lore.activation.compiled import CompiledEntry, Compiler, ranked
from core.library.lore.activation.result import ActiveEntry, Outcome
from core.library.lore.activation.scan import Scan
from core.library.lore.activation.scene import Activated, ActivationInput, ScannedBook, ScanSettings
from core.library.lore.activation.term_index import MOST_TEXTS, TermIndex
from core.library.macros import MacroNames

_SPARE: Final = 1_000
"""So many terms of earlier books may remain before the index is made again."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Books that are ready: all entries in the order of the budget, and which of them each term concerns."""

    entries: list[CompiledEntry]
    users: dict[int, list[int]]
    always: list[int]
    ranks: dict[tuple[str, str], int]
    """The place of each entry, by the label of its book and its uid."""
    deepest: int
    levels: list[int]
    """The levels of recursion that entries wait for, lowest first; empty where there is no recursion."""
    fields: frozenset[str]
    """The fields of a scene that some entry asks for; no other is searched."""


class Activation:
    """Results of an activation."""

    def __init__(self, scan: Scan, prepared: Prepared, length: int) -> None:
        self._scan = scan
        self._prepared = prepared
        self._length = length
        self.active: tuple[ActiveEntry, ...] = scan.result()
        """The active entries in the order of the input: within a place, lower order first."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Outcomes of all entries, in the order in which the budget goes to them."""
        return tuple(map(self._scan.outcome, range(len(self._prepared.entries))))

    @property
    def refused(self) -> Iterator[Outcome]:
        """Outcomes of the entries that a text concerned and that are not active, by their ranks."""
        return map(self._scan.outcome, self._scan.refused)

    @property
    def log(self) -> tuple[Activated, ...]:
        """Lines for the caller's log: the active entries on which later activations depend."""
        outcomes = (one.outcome for one in self.active)
        return tuple(
            Activated(one.book, one.uid, digest, self._length)
            for one in outcomes
            if (digest := self._prepared.entries[self._prepared.ranks[one.book, one.uid]].digest)
        )


class LoreScanner:
    """Scans texts for the entries of books. Caches its results, so that the next scan only reads changes.

    Not to be used by two threads at once.
    """

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = lru_cache(MOST_TEXTS)(count_tokens)
        self._index = TermIndex()
        self._compiler: Compiler | None = None
        self._for: tuple[object, ...] = ()
        self._books: tuple[tuple[str, object, object], ...] = ()
        self._prepared: Prepared | None = None
        self._remembered = Remembered()

    def activate(
        self, books: Sequence[ScannedBook], scene: ActivationInput, settings: ScanSettings
    ) -> Activation:
        """Return which entries of `books` are active in a scene, and why; blocking."""
        prepared = self._prepare(books, scene.names, settings.scan_depth)
        self._remembered = Remembered(before=self._remembered.now)
        wanted = {name: text for name, text in scene.fields.items() if name in prepared.fields}
        scene = replace(scene, fields=wanted)
        buffer = ScanBuffer(scene, self._index, self._remembered)
        scan = Scan(prepared.entries, prepared.users, prepared.always, prepared.deepest, prepared.levels)
        scan.run(buffer, scene, settings.budget, self._count_tokens, prepared.ranks)
        return Activation(scan, prepared, scene.message_count)

    def _prepare(self, books: Sequence[ScannedBook], names: MacroNames, scan_depth: int) -> Prepared:
        for_now = (names.char, names.user, scan_depth)
        if self._compiler is None or for_now != self._for:
            self._compiler = Compiler(self._index, scan_depth, names)
            self._for, self._books = for_now, ()
        # Books are values: the same object is the same book.
        now = tuple((book.label, book.origin, book.book) for book in books)
        if self._prepared is None or not _are_same(now, self._books):
            self._prepared = _prepared(self._compiler, books)
            self._books = now
            if len(self._index) > 2 * len(self._prepared.users) + _SPARE:
                self._index = TermIndex()
                self._compiler = Compiler(self._index, scan_depth, names)
                self._prepared = _prepared(self._compiler, books)
        return self._prepared


def _are_same(now: Sequence[tuple[str, object, object]], then: Sequence[tuple[str, object, object]]) -> bool:
    return len(now) == len(then) and all(
        one[:2] == other[:2] and one[2] is other[2] for one, other in zip(now, then, strict=True)
    )


def _prepared(compiler: Compiler, books: Sequence[ScannedBook]) -> Prepared:
    entries = ranked(compiler.compiled(books))
    users: dict[int, list[int]] = {}
    for rank, entry in enumerate(entries):
        for term in entry.terms:
            users.setdefault(term, []).append(rank)
    return Prepared(
        entries,
        users,
        [rank for rank, entry in enumerate(entries) if entry.is_always_considered],
        {(entry.book.label, entry.entry.uid): rank for rank, entry in enumerate(entries)},
        max((entry.depth for entry in entries), default=0),
        sorted({_level(entry) for entry in entries} - {0}),
        frozenset(name for entry in entries for name in entry.fields),
    )


def _level(compiled: CompiledEntry) -> int:
    is_waiting = compiled.entry.is_enabled and compiled.is_recursive
    return compiled.entry.delay_until_recursion if is_waiting else 0
