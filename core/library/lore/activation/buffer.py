"""The texts of one scan and where keys are in them: messages, fields of the card, texts of entries."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from core.library.lore.activation.compiled import CompiledEntry, CompiledKey
from core.library.lore.activation.keys import SECONDS, Expression, place_of
from core.library.lore.activation.scene import ActivationInput
from core.library.lore.activation.term_index import SearchedText, TermIndex

ALL_EXPRESSIONS: Final = 0.5
"""Seconds that all regular expressions of one scan may take together."""
START: Final = "\x01"
"""The mark before each text, by which an expression can tell where one begins."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Place of a key: in a message, in the text of another entry, or in the field that `detail` names."""

    message: int | None = None
    parent: str = ""
    detail: str = ""


@dataclass(slots=True)
class _Part:
    """One text of the buffer, and what a hit in it says."""

    text: SearchedText
    hit: Hit


@dataclass(slots=True)
class Remembered:
    """Matches of expressions in whole buffers, of the previous scan and of this one."""

    before: dict[tuple[Expression, str], int | None] = field(default_factory=dict)
    now: dict[tuple[Expression, str], int | None] = field(default_factory=dict)


class ScanBuffer:
    """Everything that is scanned in one activation. Messages are added on demand, newest first."""

    def __init__(self, scene: ActivationInput, index: TermIndex, known: Remembered) -> None:
        self._index = index
        self._known = known
        self._newest = scene.messages[::-1]
        self._parts: list[_Part] = []
        self._term_at: dict[int, int] = {}
        self._fields = {
            name: _Part(index.searched(text), Hit(detail=f"the {name.replace('_', ' ')}"))
            for name, text in scene.fields.items()
        }
        self._recursion: list[_Part] = []
        self._recursion_at: dict[int, Hit] = {}
        self._joined: dict[tuple[int, bool, tuple[str, ...]], tuple[str, list[tuple[int, Hit]]]] = {}
        self._seconds = ALL_EXPRESSIONS

    def reach(self, depth: int) -> set[int]:
        """Add messages up to `depth`, if there are so many; return the terms that were in none before."""
        new = set[int]()
        for at, message in enumerate(self._newest[len(self._parts) : depth], start=len(self._parts)):
            part = _Part(self._index.searched(message.text, message.name), Hit(message=message.number))
            first = part.text.hits - self._term_at.keys()
            self._term_at.update(dict.fromkeys(first, at))
            new |= first
            self._parts.append(part)
        return new

    def add_recursion(self, parent: str, text: str) -> set[int]:
        """Add the text of an active entry, in which other entries may find their keys; return its terms."""
        part = _Part(self._index.searched(text), Hit(parent=parent))
        for term in part.text.hits:
            self._recursion_at.setdefault(term, part.hit)
        self._recursion.append(part)
        self._joined.clear()
        return part.text.hits

    def other_terms(self) -> set[int]:
        """Return the terms that are in fields of the card."""
        return set[int]().union(*(part.text.hits for part in self._fields.values()))

    def find(self, key: CompiledKey, entry: CompiledEntry) -> Hit | None:
        """Return where a key of an entry is; raise TimeoutError for an expression that takes too long."""
        if key.expression is not None:
            return self._find_expression(key.expression, key.terms, entry)
        if not key.terms:
            return None
        [term] = key.terms
        at = self._term_at.get(term)
        if at is not None and at < entry.depth:
            return self._parts[at].hit
        for part in self._fields_for(entry):
            if term in part.text.hits:
                return part.hit
        return self._recursion_at.get(term) if entry.is_recursive else None

    def _fields_for(self, entry: CompiledEntry) -> list[_Part]:
        if entry.depth <= 0:
            return []
        return [self._fields[name] for name in entry.fields if name in self._fields]

    def _parts_for(self, entry: CompiledEntry) -> list[_Part]:
        """Return all texts for an entry."""
        recursion = self._recursion if entry.is_recursive else []
        return [*self._parts[: entry.depth], *self._fields_for(entry), *recursion]

    def _find_expression(
        self, expression: Expression, terms: tuple[int, ...], entry: CompiledEntry
    ) -> Hit | None:
        parts = self._parts_for(entry)
        if terms and all(part.text.hits.isdisjoint(terms) for part in parts):
            return None
        if not expression.is_local:
            return self._find_anywhere(expression, entry)
        count = len(parts)
        for number, part in enumerate(parts, start=1):
            if terms and part.text.hits.isdisjoint(terms):
                continue
            is_last = number == count
            is_found = part.text.expressions[is_last].get(expression.shown)
            if is_found is None:
                with self._limited() as seconds:
                    is_found = part.text.matches(expression, seconds, is_last=is_last)
            if is_found:
                return part.hit
        return None

    def _find_anywhere(self, expression: Expression, entry: CompiledEntry) -> Hit | None:
        text, starts = self._whole(entry)
        place = (expression, text)
        if place in self._known.before:
            at = self._known.before[place]
        elif place in self._known.now:
            at = self._known.now[place]
        else:
            with self._limited() as seconds:
                at = place_of(expression, text, seconds)
        self._known.now[place] = at
        if at is None:
            return None
        return next((hit for start, hit in reversed(starts) if start <= at), Hit())

    def _whole(self, entry: CompiledEntry) -> tuple[str, list[tuple[int, Hit]]]:
        """Return all texts for an entry as one, and where each begins."""
        key = (min(entry.depth, len(self._parts)), entry.is_recursive, entry.fields)
        if key not in self._joined:
            pieces: list[str] = []
            starts: list[tuple[int, Hit]] = []
            length = 0
            for part in self._parts_for(entry):
                pieces.append(f"{START}{part.text.raw}")
                starts.append((length, part.hit))
                length += len(pieces[-1]) + 1
            self._joined[key] = ("\n".join(pieces), starts)
        return self._joined[key]

    @contextmanager
    def _limited(self) -> Iterator[float]:
        """Yield the seconds that an expression may take, and count what it took; raise TimeoutError at 0."""
        if self._seconds <= 0:
            raise TimeoutError
        began = perf_counter()
        try:
            yield min(self._seconds, SECONDS)
        finally:
            self._seconds -= perf_counter() - began
