"""The texts of one scan and where keys are in them: messages, notes, fields of the card, texts of entries."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from core.library.lore.activation.compiled import CompiledEntry, CompiledKey
from core.library.lore.activation.keys import SECONDS, Expression, place_of
from core.library.lore.activation.scene import ActivationInput, ScanSettings
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

    def __init__(
        self, scene: ActivationInput, settings: ScanSettings, index: TermIndex, known: Remembered
    ) -> None:
        self._index = index
        self._known = known
        self._newest = scene.messages[::-1]
        self._includes_names = settings.includes_names
        self._parts: list[_Part] = []
        self._term_at: dict[int, int] = {}
        self._notes = [_Part(index.searched(text), Hit(detail="a note")) for text in scene.injections]
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
            name = message.name if self._includes_names else ""
            part = _Part(self._index.searched(message.text, name), Hit(message=message.number))
            first = part.text.hits - self._term_at.keys()
            self._term_at.update(dict.fromkeys(first, at))
            new |= first
            self._parts.append(part)
        return new

    @property
    def message_count(self) -> int:
        """Maximum number of messages to scan."""
        return len(self._newest)

    def add_recursion(self, parent: str, text: str) -> set[int]:
        """Add the text of an active entry, in which other entries may find their keys; return its terms."""
        part = _Part(self._index.searched(text), Hit(parent=parent))
        for term in part.text.hits:
            self._recursion_at.setdefault(term, part.hit)
        self._recursion.append(part)
        self._joined.clear()
        return part.text.hits

    @property
    def has_recursion(self) -> bool:
        """Whether there is a text of an entry."""
        return bool(self._recursion)

    def other_terms(self) -> set[int]:
        """Return the terms that are in notes and fields of the card."""
        return set[int]().union(*(part.text.hits for part in (*self._notes, *self._fields.values())))

    def find(self, key: CompiledKey, entry: CompiledEntry, depth: int, *, with_recursion: bool) -> Hit | None:
        """Return where a key of an entry is; raise TimeoutError for an expression that takes too long."""
        if key.expression is not None:
            return self._find_expression(key.expression, key.terms, entry, depth, with_recursion)
        if not key.terms:
            return None
        [term] = key.terms
        at = self._term_at.get(term)
        if at is not None and at < depth:
            return self._parts[at].hit
        for part in self._others(entry, depth):
            if term in part.text.hits:
                return part.hit
        return self._recursion_at.get(term) if with_recursion else None

    def _others(self, entry: CompiledEntry, depth: int) -> list[_Part]:
        if not (self._notes or entry.fields):
            return []
        named = [self._fields[name] for name in entry.fields if name in self._fields] if depth > 0 else []
        return [*self._notes, *named]

    def _find_expression(
        self,
        expression: Expression,
        terms: tuple[int, ...],
        entry: CompiledEntry,
        depth: int,
        with_recursion: bool,
    ) -> Hit | None:
        parts = [*self._parts[:depth], *self._others(entry, depth)]
        parts += self._recursion if with_recursion else []
        if terms and all(part.text.hits.isdisjoint(terms) for part in parts):
            return None
        if not expression.is_local:
            return self._find_anywhere(expression, entry, depth, with_recursion)
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

    def _find_anywhere(
        self, expression: Expression, entry: CompiledEntry, depth: int, with_recursion: bool
    ) -> Hit | None:
        text, starts = self._whole(entry, depth, with_recursion)
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

    def _whole(
        self, entry: CompiledEntry, depth: int, with_recursion: bool
    ) -> tuple[str, list[tuple[int, Hit]]]:
        """Return all texts for an entry as one, and where each begins."""
        key = (min(depth, len(self._parts)), with_recursion, entry.fields)
        if key not in self._joined:
            parts = [*self._parts[:depth], *self._others(entry, depth)]
            pieces: list[str] = []
            starts: list[tuple[int, Hit]] = []
            length = 0
            for part in parts + (self._recursion if with_recursion else []):
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
