"""Working memory: the contents of an input, in the order in which they stay (design 15 and 16).

It is derived from the finished input, and never stored. The parts leave by their priority, recalled items of
the memory bank from the end of their ranking; omitted parts are in `Context.left_out`.
"""

from dataclasses import asdict, dataclass
from typing import Any

from core.context.lore import BANK
from core.context.segments import KEPT_WHOLE, Context, Segment
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMemoryItem:
    """One part of an input; the numbers are those of `Segment`."""

    id: str
    """The name of the part, with a number where several have it."""
    kind: str
    tokens: int
    priority: int
    relevance: float | None
    recency: int | None
    compression_method: str | None = None
    original_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMemory:
    """Contents of an input."""

    capacity: int
    """The tokens that it may have, at an estimate."""
    usage: int
    items: tuple[WorkingMemoryItem, ...]
    priority_queue: tuple[str, ...]
    """Ids of `items`, those that stay longest first; in place of the recalled part the ids of its items of
    the memory bank, the best first."""
    compression_enabled: bool
    """Whether a part of it is made shorter where room is short."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def working_memory_of(context: Context) -> WorkingMemory:
    """Return what an input has, and in which order it stays."""
    parts = list(zip(_ids(context), context.segments, strict=True))
    queue: list[str] = []
    for part_id, segment in sorted(parts, key=lambda pair: -pair[1].priority):
        is_recalled = segment.name is SegmentName.RECALLED and context.recalled
        queue += [str(item_id) for item_id, _ in context.recalled] if is_recalled else [part_id]
    return WorkingMemory(
        capacity=context.max_input_tokens,
        usage=context.tokens,
        items=tuple(_item(part_id, segment) for part_id, segment in parts),
        priority_queue=tuple(queue),
        compression_enabled=any(segment.priority < KEPT_WHOLE for segment in context.segments),
    )


def working_memory_text(context: Context) -> str:
    """Return in lines what stays and what leaves first, for the GM; empty where nothing was recalled."""
    if not context.recalled:
        return ""
    ids = (str(item_id) for item_id, _ in context.recalled)
    names = dict(zip(ids, _names(context), strict=False))
    made = working_memory_of(context)
    kept = {item.id for item in made.items if item.priority >= KEPT_WHOLE}
    leaving = [names.get(one, one) for one in made.priority_queue if one not in kept]
    lines = (f"{number}. {name}" for number, name in enumerate(leaving, start=1))
    used = f"Of {made.capacity:,} tokens about {made.usage:,} are used."
    return "\n".join((f"{used} Where room is short, the last of these leaves first:", *lines))


def _names(context: Context) -> list[str]:
    """Return how the items that were recalled are called, the best first."""
    names = [f"“{clean_line(note.entry)}”" for note in context.lore if note.book == BANK and note.is_in]
    # Before them are the entries of lorebooks, of which one may have the name of the bank.
    return names[-len(context.recalled) :]


def _ids(context: Context) -> list[str]:
    names = [segment.name.value for segment in context.segments]
    return [
        f"{name} {names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _item(part_id: str, segment: Segment) -> WorkingMemoryItem:
    made = segment.compression
    return WorkingMemoryItem(
        id=part_id,
        kind=segment.kind.value,
        tokens=segment.tokens,
        priority=segment.priority,
        relevance=segment.relevance,
        recency=segment.recency,
        compression_method=None if made is None else made.method.value,
        original_tokens=None if made is None else made.original_tokens,
    )
