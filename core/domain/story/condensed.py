"""Condensed memory: several deltas of one audience told again in one block of a wider range (design 13).

It is derived and comes in addition: the deltas stay in the log, and their canon locks enter inputs from them,
word for word. It is made of exactly the blocks that it names, and counts only while these are the deltas that
canon has for its audience within its range; otherwise inputs have the deltas alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import BlockId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.story.memory import BlockType, MemoryBlock, MemoryPlace

FEWEST: Final = 2
MOST: Final = 4
"""Bounds of the number of deltas that one block condenses."""
USUAL_RATIO: Final = 0.4


class Strategy(StrEnum):
    """When memory is condensed."""

    OFF = "off"
    ADAPTIVE = "adaptive"
    """Condense where the input of some character would omit details."""
    FIXED = "fixed"
    """Always, but for the newest deltas."""


@dataclass(frozen=True, slots=True)
class Condensing:
    """Settings of condensed memory; `ratio` is its length as a share of the original."""

    strategy: Strategy = Strategy.OFF
    ratio: float = USUAL_RATIO

    @property
    def is_on(self) -> bool:
        """Whether memory is condensed at all."""
        return self.strategy is not Strategy.OFF


NOT_CONDENSING: Final = Condensing()


@dataclass(frozen=True, slots=True, kw_only=True)
class CondensedMemory:
    """The deltas of `audience` within prompts `first` to `last`, condensed; `sources` are their ids."""

    id: BlockId
    session_id: SessionId
    first: int
    last: int
    audience: Audience = EVERYONE
    """Its label, which is that of each of its sources."""
    sources: tuple[BlockId, ...]
    payload: Mapping[str, object]
    """A turn delta without canon locks, its keys in the order of the model's text."""
    created_at: datetime

    @property
    def block(self) -> MemoryBlock:
        """The form in which the gate and an input take it."""
        return MemoryBlock(
            id=self.id,
            session_id=self.session_id,
            type=BlockType.CONDENSED,
            first=self.first,
            last=self.last,
            payload=self.payload,
            audience=self.audience,
            created_at=self.created_at,
        )

    @property
    def order(self) -> tuple[int, int, BlockId]:
        """The sort key."""
        return self.last, self.audience.mask, self.id

    def covers(self, block: MemoryBlock) -> bool:
        """Whether a delta is within its range and has its audience."""
        is_within = self.first <= block.first and block.last <= self.last
        return block.type is BlockType.TURN_DELTA and is_within and block.audience == self.audience

    def survives(self, blocks: Iterable[MemoryBlock], end: int | None) -> bool:
        """Whether it still counts after `blocks` became canon, and after those beyond `end` left it."""
        is_kept = end is None or self.last <= end
        return is_kept and all(block.id in self.sources for block in blocks if self.covers(block))


def still_condensed(
    known: Sequence[CondensedMemory], blocks: Sequence[MemoryBlock]
) -> tuple[CondensedMemory, ...]:
    """Return those whose sources are all among `blocks`, which are the memory of another session."""
    ids = {block.id for block in blocks}
    return tuple(one for one in known if ids.issuperset(one.sources))


def next_run(
    blocks: Sequence[MemoryBlock],
    condensed: Sequence[CondensedMemory],
    wanted: frozenset[MemoryPlace],
    fewest: int = FEWEST,
) -> tuple[MemoryBlock, ...]:
    """Return the oldest deltas that can be condensed together, in order; none where there are too few.

    They have one audience and are among the `wanted` places; none of them is condensed already, and no
    correction lies between two of them, because it keeps its place.
    """
    runs = (run[:MOST] for run in _runs(blocks, condensed, wanted) if len(run) >= fewest)
    return min(runs, key=lambda run: run[0].place, default=())


def _runs(
    blocks: Sequence[MemoryBlock], condensed: Sequence[CondensedMemory], wanted: frozenset[MemoryPlace]
) -> Iterator[tuple[MemoryBlock, ...]]:
    corrected = [block.place for block in blocks if block.type is BlockType.CANON_CORRECTION]
    deltas = [block for block in blocks if block.type is BlockType.TURN_DELTA]
    for audience in dict.fromkeys(block.audience for block in deltas):
        own = [block for block in deltas if block.audience == audience]
        run: list[MemoryBlock] = []
        for block, after in zip_longest(own, own[1:]):
            is_free = not any(one.covers(block) for one in condensed)
            if is_free and block.place in wanted:
                run.append(block)
            ends = after is None or any(block.place < place < after.place for place in corrected)
            if run and (ends or run[-1] is not block):
                yield tuple(run)
                run = []


def range_of(deltas: Sequence[MemoryBlock]) -> PromptRange:
    """Return the prompts from the first to the last of `deltas`."""
    return PromptRange(deltas[0].first, deltas[-1].last)
