"""Structured memory as it goes into an input: compact, in order, and within a budget (design 7).

A block is one line of JSON without spaces and empty fields; for a very small model, its phrases alone.

When memory is over its budget the oldest turn deltas shrink to their canon locks. The cut moves in
steps of four deltas and depends on the blocks and the budget alone, so that the inputs of several
blocks in a row begin with the same bytes. Canon locks are kept, each once; what comes over from earlier
chapters, the world_chapter_lock and the GM's corrections are never touched. A correction comes after every
block that was there when it was made, and says itself that it outranks them.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.config.models import PromptStyle
from core.context.tokens import estimate_tokens
from core.domain.ids import BlockId
from core.domain.prompt_range import PromptRange
from core.domain.story.memory import BlockType, MemoryBlock, compact_json, is_full, without_empty

DIGESTS_KEPT = 16
"""How many digests are remembered: one for each character and role, and some to spare."""

_UNTOLD = ("memory_type", "range", "agents", "comes_from")
"""The keys of a payload that are no phrase for a small model."""

STEP = 4
"""How many deltas shrink at a time."""


@dataclass(frozen=True, slots=True)
class CompactBlock:
    """A memory block as one line of JSON, with what is needed to budget it."""

    type: BlockType
    first: int
    last: int
    ordinal: int
    text: str
    tokens: int
    canon: tuple[str, ...]
    is_partial: bool
    """Only its canon locks were read (`SessionStore.memory`): its details are left out at any budget."""

    @property
    def place(self) -> tuple[int, int]:
        """As that of its block."""
        return self.last, self.ordinal


@dataclass(frozen=True, slots=True)
class Digest:
    """Memory within a budget: its lines, their tokens, and the prompts whose details were left out.

    `original_tokens` are those that it would have whole, as far as it was read.
    """

    lines: tuple[str, ...]
    tokens: int
    compacted: PromptRange | None
    original_tokens: int

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was left out, in words for the GM."""
        if self.compacted is None:
            return ()
        return (f"Details of prompts {self.compacted} (their canon locks are kept)",)


class MemoryDigester:
    """Turns blocks into digests; keeps the compact text of the blocks that it was given last."""

    def __init__(self, style: PromptStyle) -> None:
        self._style = style
        self._compact: dict[BlockId, CompactBlock] = {}
        self._made: OrderedDict[tuple[tuple[tuple[BlockId, bool], ...], int], Digest] = OrderedDict()

    def digest(self, blocks: Sequence[MemoryBlock], budget: int) -> Digest:
        """Return memory in at most `budget` tokens, or, where that cannot be, as small as it gets.

        The cache key names every block and whether it is whole: two characters may hold different
        blocks of the same number and end. Between two blocks each digest is made once.
        """
        key = (tuple((block.id, is_full(block)) for block in blocks), budget)
        made = self._made.pop(key, None) or self._digest(blocks, budget)
        self._made[key] = made
        if len(self._made) > DIGESTS_KEPT:
            self._made.popitem(last=False)
        return made

    def _digest(self, blocks: Sequence[MemoryBlock], budget: int) -> Digest:
        compact = [self.compact(block) for block in blocks]
        self._compact = {block.id: known for block, known in zip(blocks, compact, strict=True)}
        locks = [block for block in compact if block.type is BlockType.WORLD_CHAPTER_LOCK]
        deltas = [block for block in compact if block.type is BlockType.TURN_DELTA]
        corrections = [block for block in compact if block.type is BlockType.CANON_CORRECTION]
        locks = [*(block for block in compact if block.type is BlockType.CARRY_OVER), *locks]
        canon = _Canon(self._style, locks)
        fixed = sum(block.tokens for block in (*locks, *corrections))
        whole_tokens = fixed + (details := sum(block.tokens for block in deltas))
        done = 0
        least = max((number for number, block in enumerate(deltas, start=1) if block.is_partial), default=0)
        for cut in _cuts(len(deltas), least):
            for block in deltas[done:cut]:
                details -= block.tokens
                canon.add(block)
            done = cut
            if fixed + canon.tokens + details <= budget:
                break
        whole = sorted((*deltas[done:], *corrections), key=lambda block: block.place)
        lines = [block.text for block in locks] + canon.lines + [block.text for block in whole]
        compacted = PromptRange(deltas[0].first, deltas[done - 1].last) if done else None
        return Digest(tuple(lines), fixed + canon.tokens + details, compacted, whole_tokens)

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
                block.type, block.first, block.last, block.ordinal, text, tokens, locks, is_partial
            )
            self._compact[block.id] = known
        return known


def _line(payload: Mapping[str, object], style: PromptStyle) -> str:
    """Return a payload as one line: compact JSON, or for a small model, which JSON confuses, its phrases."""
    if payload.get("memory_type") == BlockType.CANON_CORRECTION:
        return _correction(payload, style)
    if style is PromptStyle.FULL:
        return compact_json(without_empty(payload))
    told = {key: value for key, value in payload.items() if key not in _UNTOLD}
    return " ".join(dict.fromkeys(_phrases(told)))


def _correction(payload: Mapping[str, object], style: PromptStyle) -> str:
    """Return a correction as one line, with what it replaces: no system prompt needs to say this."""
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
        self._seen = {_key(lock) for block in locks for lock in block.canon}
        self._kept: list[str] = []
        self._first = self._last = 0
        self._tokens = 0

    def add(self, block: CompactBlock) -> None:
        self._first = self._first or block.first
        self._last = block.last
        for lock in block.canon:
            if _key(lock) not in self._seen and lock.strip():
                self._seen.add(_key(lock))
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


def _key(lock: str) -> str:
    return " ".join(lock.casefold().split())


def _cuts(count: int, least: int) -> Iterator[int]:
    """Yield how many deltas to shrink: `least`, then more by steps, at last all."""
    yield least
    yield from range(least // STEP * STEP + STEP, count, STEP)
    yield count
