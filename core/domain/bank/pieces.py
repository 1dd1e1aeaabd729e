"""The pieces of a chapter's texts that are found by meaning, beside the items of its bank (design 15)."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from core.domain.bank.recall import Vector
from core.domain.ids import SessionId

LONGEST_PIECE: Final = 600
"""Characters of a piece: about as many as the bundled model reads in one call."""
SHORTEST_PIECE: Final = 16
"""Less says too little to be found by."""
_LINE: Final = re.compile(r"\S[^\n]*")


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters `start` up to, but without, `end` of a text."""

    text: str
    start: int
    end: int

    @property
    def hash(self) -> str:
        """Key of its stored vector: equal words share one vector."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class PieceVector:
    """The meaning of a piece with this hash."""

    hash: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class NearPiece:
    """A piece that was found by its meaning, and the cosine."""

    session_id: SessionId
    hash: str
    similarity: float


def pieces_of(text: str) -> Iterator[Piece]:
    """Yield a text in pieces: whole lines as far as they have room, and long lines cut between words."""
    begin: int | None = None
    end = 0
    for first, last in _spans(text):
        if begin is not None and last - begin > LONGEST_PIECE:
            yield from _piece(text, begin, end)
            begin = None
        begin, end = first if begin is None else begin, last
    if begin is not None:
        yield from _piece(text, begin, end)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where lines begin and end; those that are too long in parts."""
    for line in _LINE.finditer(text):
        first, last = line.span()
        while last - first > LONGEST_PIECE:
            cut = text.rfind(" ", first + LONGEST_PIECE // 2, first + LONGEST_PIECE)
            cut = first + LONGEST_PIECE if cut < 0 else cut
            yield first, cut
            first = cut
        yield first, last


def _piece(text: str, begin: int, end: int) -> Iterator[Piece]:
    if len(text[begin:end].strip()) >= SHORTEST_PIECE:
        yield Piece(text[begin:end], begin, end)
