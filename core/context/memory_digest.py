"""Structured memory as it goes into an input: compact, in order, and within a budget (design 7).

A block is one line of JSON without spaces and empty fields; for a very small model, its phrases alone.

When memory is over its budget the oldest turn deltas shrink to their canon locks. The cut moves in
steps of four deltas and depends on the blocks and the budget alone, so that the inputs of several
blocks in a row begin with the same bytes. Canon locks are kept, each once; what comes over from earlier
chapters, the world_chapter_lock and the GM's corrections are never touched. A correction comes after every
block that was there when it was made, and says itself that it outranks them.

Deltas that were condensed (`core.domain.story.condensed`) have one block in the place of their details: once
all of them have shrunk, and with the strategy `fixed` from the beginning. Where even that is too much, the
oldest of these blocks go first.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.config.models.model_config import PromptStyle
from core.context.tokens import estimate_tokens
from core.domain.audience import Audience
from core.domain.ids import BlockId
from core.domain.prompt_range import PromptRange
from core.domain.story.condensed import NOT_CONDENSING, Condensing, Strategy
from core.domain.story.memory import (
    BlockType,
    MemoryBlock,
    MemoryPlace,
    compact_json,
    is_full,
    lock_key,
    without_empty,
)

DIGESTS_KEPT = 16
"""Number of digests in the cache: one for each character and role, and some to spare."""

_UNTOLD = ("memory_type", "range", "agents", "comes_from")
"""The keys of a payload that are no phrase for a small model."""

STEP = 4
"""Number of deltas that shrink at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactBlock:
    """A memory block as one line of JSON, with the data needed to budget it."""

    type: BlockType
    first: int
    last: int
    ordinal: int
    text: str
    tokens: int
    canon: tuple[str, ...]
    is_partial: bool
    """Only its canon locks were read (`SessionStore.memory`): its details are left out at any budget."""
    audience: Audience

    @property
    def place(self) -> MemoryPlace:
        """As that of its block."""
        return self.last, self.ordinal

    def covers(self, delta: "CompactBlock") -> bool:
        """Whether a condensed block tells what `delta` does."""
        is_within = self.first <= delta.first and delta.last <= self.last
        return is_within and self.audience == delta.audience


@dataclass(frozen=True, slots=True)
class CondensedPart:
    """A condensed block of an input: its prompts, its tokens, and those of the deltas that it replaces."""

    prompts: PromptRange
    tokens: int
    original_tokens: int | None
    """None where the deltas are so old that they were not read as a whole."""

    @property
    def ratio(self) -> float | None:
        """The share that is left of the deltas."""
        return self.tokens / self.original_tokens if self.original_tokens else None

    def __str__(self) -> str:
        share = "" if self.ratio is None else f", to {self.ratio:.0%} of {self.original_tokens:,} tokens"
        return f"Prompts {self.prompts} are told condensed{share} (their canon locks are kept)"


@dataclass(frozen=True, slots=True)
class Digest:
    """Memory within a budget: its lines, their tokens, and the prompts whose details were left out.

    `original_tokens` are those that it would have whole, as far as it was read.
    """

    lines: tuple[str, ...]
    tokens: int
    compacted: PromptRange | None
    original_tokens: int
    condensed: tuple[CondensedPart, ...] = ()
    shrunk: frozenset[MemoryPlace] = frozenset()
    """The places of the deltas whose details no line tells."""

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Omitted parts of memory, in words for the GM."""
        told = tuple(map(str, self.condensed))
        if self.compacted is None:
            return told
        return (f"Details of prompts {self.compacted} (their canon locks are kept)", *told)


class MemoryDigester:
    """Turns blocks into digests; keeps the compact text of the blocks that it was given last."""

    def __init__(self, style: PromptStyle, condensing: Condensing = NOT_CONDENSING) -> None:
        self._style = style
        self._condensing = condensing
        self._compact: dict[BlockId, CompactBlock] = {}
        self._made: list[tuple[int, Sequence[MemoryBlock], Digest]] = []
        """The newest first."""

    def digest(self, blocks: Sequence[MemoryBlock], budget: int) -> Digest:
        """Return memory in at most `budget` tokens, or, where that cannot be, as small as it gets.

        Between two blocks each digest is made once. Blocks are compared, which for the same objects takes
        no time: two characters may hold different ones of the same number and end. So the objects that came
        last are kept: a chapter that is opened again has others, which would be compared for each input.
        """
        blocks = tuple(blocks)
        made = self._made  # read once: another thread may replace it
        known = next((one for one in made if one[0] == budget and one[1] == blocks), None)
        digest = self._digest(blocks, budget) if known is None else known[-1]
        self._made = [(budget, blocks, digest), *(one for one in made if one is not known)][:DIGESTS_KEPT]
        return digest

    def _digest(self, blocks: Sequence[MemoryBlock], budget: int) -> Digest:
        compact = [self.compact(block) for block in blocks]
        self._compact = {block.id: known for block, known in zip(blocks, compact, strict=True)}
        locks = [block for block in compact if block.type is BlockType.WORLD_CHAPTER_LOCK]
        deltas = [block for block in compact if block.type is BlockType.TURN_DELTA]
        corrections = [block for block in compact if block.type is BlockType.CANON_CORRECTION]
        locks = [*(block for block in compact if block.type is BlockType.CARRY_OVER), *locks]
        told = [block for block in compact if block.type is BlockType.CONDENSED and self._condensing.is_on]
        deltas, least = self._in_order_of_shrinking(deltas, told)
        canon = _Canon(self._style, locks)
        fixed = sum(block.tokens for block in (*locks, *corrections))
        whole_tokens = fixed + (details := sum(block.tokens for block in deltas))
        done = 0
        tells = _tells(told, deltas)
        used: list[_Tells] = []
        for cut in _cuts(len(deltas), least):
            for block in deltas[done:cut]:
                details -= block.tokens
                canon.add(block)
            done = cut
            used = [one for one in tells if one.end <= cut]
            if fixed + canon.tokens + details + _tokens(one.block for one in used) <= budget:
                break
        tokens = fixed + canon.tokens + details
        while used and tokens + _tokens(one.block for one in used) > budget:
            del used[0]
        condensed = [one.block for one in used]
        whole = sorted((*deltas[done:], *corrections, *condensed), key=lambda block: block.place)
        lines = [block.text for block in locks] + canon.lines + [block.text for block in whole]
        compacted, parts, shrunk = _left_out(deltas[:done], used)
        return Digest(tuple(lines), tokens + _tokens(condensed), compacted, whole_tokens, parts, shrunk)

    def _in_order_of_shrinking(
        self, deltas: list[CompactBlock], told: Sequence[CompactBlock]
    ) -> tuple[list[CompactBlock], int]:
        """Return the deltas, the first to shrink first, and how many of them shrink at any budget."""
        is_fixed = self._condensing.strategy is Strategy.FIXED
        replaced = {index for one in _tells(told, deltas) for index in one.deltas} if is_fixed else set()
        ordered = [deltas[index] for index in sorted(range(len(deltas)), key=lambda one: one not in replaced)]
        partial = max(
            (number for number, block in enumerate(ordered, start=1) if block.is_partial), default=0
        )
        return ordered, max(partial, len(replaced))

    def compact(self, block: MemoryBlock) -> CompactBlock:
        """Return the compact form of `block`, made once while memory holds it."""
        known = self._compact.get(block.id)
        is_partial = not is_full(block)
        if known is None or known.is_partial != is_partial:
            text = _line(block.payload, self._style)
            canon = block.payload.get("canon_locks")
            locks = (
                tuple(lock for lock in canon if isinstance(lock, str))
                if isinstance(canon, list | tuple)
                else ()
            )
            tokens = estimate_tokens(text, self._style) + 1
            known = CompactBlock(
                type=block.type,
                first=block.first,
                last=block.last,
                ordinal=block.ordinal,
                text=text,
                tokens=tokens,
                canon=locks,
                is_partial=is_partial,
                audience=block.audience,
            )
            self._compact[block.id] = known
        return known


@dataclass(frozen=True, slots=True)
class _Tells:
    """A condensed block, and the deltas that it tells: their places in the order of shrinking."""

    block: CompactBlock
    deltas: tuple[int, ...]

    @property
    def end(self) -> int:
        """Number of deltas that have shrunk once it is needed."""
        return max(self.deltas, default=-1) + 1


def _tells(told: Sequence[CompactBlock], deltas: Sequence[CompactBlock]) -> list[_Tells]:
    """Return which deltas each condensed block tells; looked up by audience, as a long chapter has many."""
    places: defaultdict[Audience, list[tuple[int, int]]] = defaultdict(list)
    for index, delta in enumerate(deltas):
        places[delta.audience].append((delta.first, index))
    for own in places.values():
        own.sort()
    made = []
    for one in told:
        own = places[one.audience]
        within = own[bisect_left(own, (one.first, 0)) : bisect_left(own, (one.last + 1, 0))]
        made.append(_Tells(one, tuple(index for _, index in within if one.covers(deltas[index]))))
    return made


def _tokens(blocks: Iterable[CompactBlock]) -> int:
    return sum(block.tokens for block in blocks)


def _left_out(
    shrunk: Sequence[CompactBlock], used: Sequence[_Tells]
) -> tuple[PromptRange | None, tuple[CondensedPart, ...], frozenset[MemoryPlace]]:
    """Return the prompts whose details no line tells, those told condensed, and the places of the former."""
    parts = []
    for one in used:
        own, block = [shrunk[index] for index in one.deltas], one.block
        is_whole = not any(delta.is_partial for delta in own)
        span = PromptRange(block.first, block.last)
        parts.append(CondensedPart(span, block.tokens, _tokens(own) if is_whole else None))
    told = {index for one in used for index in one.deltas}
    untold = [delta for index, delta in enumerate(shrunk) if index not in told]
    if not untold:
        return None, tuple(parts), frozenset()
    span = PromptRange(min(delta.first for delta in untold), max(delta.last for delta in untold))
    return span, tuple(parts), frozenset(delta.place for delta in untold)


def _line(payload: Mapping[str, object], style: PromptStyle) -> str:
    """Return a payload as one line: compact JSON, or for a small model, which JSON confuses, its phrases."""
    if payload.get("memory_type") == BlockType.CANON_CORRECTION:
        return _correction(payload, style)
    if style is PromptStyle.FULL:
        return compact_json(without_empty(payload))
    told = {key: value for key, value in payload.items() if key not in _UNTOLD}
    return " ".join(dict.fromkeys(_phrases(told)))


def _correction(payload: Mapping[str, object], style: PromptStyle) -> str:
    """Return a correction as one line, with the text that it replaces: no system prompt explains it."""
    after = payload.get("made_after")
    known = f"memory and prompts up to {after}" if after else "earlier memory"
    rule = f"This GM correction replaces what {known} say{'' if after else 's'} otherwise."
    if style is PromptStyle.FULL:
        return compact_json(without_empty({**payload, "rule": rule}))
    return f"GM correction: {' '.join(str(payload.get('correction', '')).split())} {rule}"


def _phrases(value: object) -> Iterator[str]:
    if isinstance(value, str) and value not in ("", "unknown"):
        yield " ".join(value.split())
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from () if key in ("name", "participants") else _phrases(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _phrases(inner)


class _Canon:
    """The canon locks of shrunken deltas, each once, those of the world_chapter_lock not again."""

    def __init__(self, style: PromptStyle, locks: Sequence[CompactBlock]) -> None:
        self._style = style
        self._seen = {lock_key(lock) for block in locks for lock in block.canon}
        self._kept: list[str] = []
        self._first = self._last = 0
        self._tokens = 0

    def add(self, block: CompactBlock) -> None:
        self._first = min(self._first or block.first, block.first)
        self._last = max(self._last, block.last)
        for lock in block.canon:
            if lock_key(lock) not in self._seen and lock.strip():
                self._seen.add(lock_key(lock))
                self._kept.append(lock)
                self._tokens += estimate_tokens(compact_json(lock), self._style) + 1

    @property
    def tokens(self) -> int:
        return self._tokens + estimate_tokens(self._shell(()), self._style) + 1 if self._kept else 0

    @property
    def lines(self) -> list[str]:
        return [self._shell(tuple(self._kept))] if self._kept else []

    def _shell(self, locks: tuple[str, ...]) -> str:
        markers = {"from_marker": f"{self._first})", "to_marker": f"{self._last})"}
        shell = {"memory_type": "turn_delta", "range": markers, "canon_locks": locks}
        return compact_json(shell) if self._style is PromptStyle.FULL else " ".join(locks)


def _cuts(count: int, least: int) -> Iterator[int]:
    """Yield how many deltas to shrink: `least`, then more by steps, at last all."""
    yield least
    yield from range(least // STEP * STEP + STEP, count, STEP)
    yield count
