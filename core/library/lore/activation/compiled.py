"""Entries made ready for scanning: their keys as terms, their decorators applied, their settings settled."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from core.library.lore.activation.keys import Expression, Term, needed_terms, read_key
from core.library.lore.activation.result import InputPosition
from core.library.lore.activation.scene import Origin, ScannedBook, digest_of
from core.library.lore.activation.term_index import TermIndex
from core.library.lore.book import LoreEntry, Position, Role
from core.library.lore.decorators import Decorators, split_decorators
from core.library.macros import Draws, MacroNames, expand, has_macros

FIELDS: Final = (
    ("persona", "matches_persona"),
    ("description", "matches_description"),
    ("personality", "matches_personality"),
    ("depth_prompt", "matches_depth_prompt"),
    ("scenario", "matches_scenario"),
    ("notes", "matches_notes"),
)
LASTING: Final = ("keep_activate_after_match", "dont_activate_after_match")
"""Decorators by which an activation matters for good."""
_PLACES: Final = 256
_POSITIONS: Final = {"before_desc": Position.BEFORE_CHARACTER}


@dataclass(frozen=True, slots=True)
class CompiledKey:
    """A key as its author wrote it, and the number of its term or its expression; neither matches nothing.

    With both, the expression matches only where one of the terms is.
    """

    shown: str
    terms: tuple[int, ...]
    expression: Expression | None


@dataclass(frozen=True, slots=True)
class CompiledEntry:
    """An entry of a book, ready to be scanned. `entry` has what its decorators change."""

    entry: LoreEntry
    book: ScannedBook
    decorators: Decorators
    text: str
    """The content without decorators; its macros are expanded when it is inserted."""
    has_macros: bool
    keys: tuple[CompiledKey, ...]
    secondary: tuple[CompiledKey, ...]
    additional: tuple[tuple[CompiledKey, ...], ...]
    excluded: tuple[CompiledKey, ...]
    excluded_together: tuple[CompiledKey, ...]
    depth: int
    is_recursive: bool
    fields: tuple[str, ...]
    place: InputPosition
    is_always_considered: bool
    """Whether it can be activated without one of its terms in a text."""
    is_dropped_first: bool
    """Whether it goes last for the budget."""
    terms: tuple[int, ...]
    """The terms of its keys and secondary keys."""
    digest: str
    """Hash that changes when the entry is edited; empty if no later activation depends on this one."""


class Compiler:
    """Compiles entries for one depth and one set of names, and each entry once."""

    def __init__(self, index: TermIndex, scan_depth: int, names: MacroNames) -> None:
        self._index = index
        self._scan_depth = scan_depth
        self._names = names
        self._books: dict[str, ScannedBook] = {}
        self._known: dict[tuple[str, int], CompiledEntry] = {}

    def compiled(self, books: Sequence[ScannedBook]) -> list[tuple[ScannedBook, list[CompiledEntry]]]:
        """Return the entries of all books in their order; the same object is compiled once."""
        known: dict[tuple[str, int], CompiledEntry] = {}
        made = []
        for book in books:
            before = self._books.get(book.label)
            usable = self._known if before is not None and _is_alike(before, book) else {}
            entries = []
            for source in book.book.entries:
                place = (book.label, id(source))
                # The compiled entry holds its source, so no other object can have that id.
                entry = usable.get(place)
                known[place] = entry if entry is not None else self._compile(book, source)
                entries.append(known[place])
            made.append((book, entries))
        self._known = known
        self._books = {book.label: book for book in books}
        return made

    def _compile(self, book: ScannedBook, source: LoreEntry) -> CompiledEntry:
        decorators, text = split_decorators(source.content)
        entry = _decorated(source, decorators)
        depth = entry.scan_depth
        if depth is None:
            depth = self._scan_depth if book.book.scan_depth is None else book.book.scan_depth
        has_secondary = entry.is_selective and not entry.uses_regex
        excluded = () if entry.uses_regex else decorators.keys("exclude_keys")
        keys = self._keys(entry.keys, entry)
        secondary = self._keys(entry.secondary, entry) if has_secondary else ()
        return CompiledEntry(
            entry=entry,
            book=book,
            decorators=decorators,
            text=text,
            has_macros=has_macros(text),
            keys=keys,
            secondary=secondary,
            additional=tuple(self._keys(line, entry) for line in decorators.lists.get("additional_keys", ())),
            excluded=self._keys(excluded, entry),
            excluded_together=self._keys(decorators.keys("exclude_keys_all"), entry),
            depth=depth,
            is_recursive=bool(book.book.is_recursive) or "recursive" in decorators.flags,
            fields=tuple(name for name, attribute in FIELDS if getattr(entry, attribute)),
            place=_place(entry.position, entry.depth, entry.role, entry.outlet),
            is_always_considered=entry.is_constant
            or "activate" in decorators.flags
            or any(key.expression is not None and not key.terms for key in keys),
            is_dropped_first="ignore_on_max_context" in decorators.flags,
            terms=tuple(term for key in (*keys, *secondary) for term in key.terms),
            digest=digest_of(source) if _lasts(entry, decorators) else "",
        )

    def _keys(self, keys: Iterable[str], entry: LoreEntry) -> tuple[CompiledKey, ...]:
        found = []
        for key in keys:
            shown = expand(key, self._names, Draws(entry.uid)) if has_macros(key) else key
            read = read_key(
                shown,
                uses_regex=entry.uses_regex,
                is_case_sensitive=bool(entry.case_sensitive),
                is_whole_word=bool(entry.whole_words),
            )
            expression = read if isinstance(read, Expression) else None
            needed = (read,) if isinstance(read, Term) else needed_terms(expression) if expression else ()
            terms = tuple(map(self._index.number_of, needed))
            found.append(CompiledKey(shown.strip(), terms, expression))
        return tuple(found)


# Entries of a book go to few places.
_place = lru_cache(_PLACES)(InputPosition)


def _lasts(entry: LoreEntry, decorators: Decorators) -> bool:
    return bool(entry.sticky or entry.cooldown) or not decorators.flags.isdisjoint(LASTING)


def _is_alike(one: ScannedBook, other: ScannedBook) -> bool:
    """Whether two books say the same for all of their entries."""
    return (one.origin, one.book.scan_depth, one.book.is_recursive, one.book.token_budget) == (
        *(other.origin, other.book.scan_depth, other.book.is_recursive, other.book.token_budget),
    )


def _decorated(entry: LoreEntry, decorators: Decorators) -> LoreEntry:
    """Return the entry with the values of its decorators in place of its fields."""
    numbers, flags = decorators.numbers, decorators.flags
    if not (numbers or flags or decorators.words):
        return entry
    changes = _placed(decorators)
    for name in ("scan_depth", "priority"):
        if name in numbers:
            changes[name] = numbers[name]
    if "probability" in numbers:
        changes |= {"probability": float(min(numbers["probability"], 100)), "uses_probability": True}
    if "match_full_word" in flags or "match_partial_word" in flags:
        changes["whole_words"] = "match_full_word" in flags
    if "unrecursive" in flags:
        changes["prevents_recursion"] = True
    if "no_recursive_search" in flags:
        changes["excludes_recursion"] = True
    return replace(entry, **changes)


def _placed(decorators: Decorators) -> dict[str, Any]:
    """Return where decorators put a text: a position before a depth, that before one from the start."""
    numbers = decorators.numbers
    found: dict[str, Any] = {}
    if "role" in decorators.words:
        found["role"] = Role[decorators.words["role"].upper()]
    position = decorators.words.get("position")
    if position is not None:
        found["position"] = _POSITIONS.get(position, Position.AFTER_CHARACTER)
    elif "depth" in numbers or "end" in decorators.flags:
        found |= {"position": Position.AT_DEPTH, "depth": numbers.get("depth", 0)}
    elif "reverse_depth" in numbers:
        found["position"] = Position.AT_DEPTH
    return found


def ranked(books: Sequence[tuple[ScannedBook, list[CompiledEntry]]]) -> list[CompiledEntry]:
    """Return all entries in the order in which the budget goes to them."""
    found: list[CompiledEntry] = []
    for origin in (Origin.CHARACTER, Origin.WORLD):
        one = [entry for book, entries in books if book.origin is origin for entry in entries]
        found += sorted(one, key=lambda entry: -entry.entry.order)
    return found
