"""The revisions of one block of memory, which are compared line by line (design 12)."""

from collections.abc import Sequence

from core.domain.story.memory import BlockType, MemoryBlock, compared
from core.text.cleaning import clean
from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparedTexts, Comparison
from storyengine_tui.widgets.elapsed import shown_time
from storyengine_tui.widgets.reading.memory_outline import Passage, title_of

AROUND = 2
"""Lines without a difference that are shown before and after those with one."""
GAP = "  …"
SAME = "These two revisions have the same text."


def revisions_to_compare(revisions: Sequence[MemoryBlock], canon: MemoryBlock) -> ComparedTexts:
    """Return two or more revisions of one block, the oldest first, to compare.

    At first `canon`, the one that counts, is compared with the one before it.
    """
    after = next(number for number, one in enumerate(revisions) if one.id == canon.id)
    rows = [
        (f"{number:,}", shown_time(one.created_at), maker_of(one), "counts now" if one.id == canon.id else "")
        for number, one in enumerate(revisions, start=1)
    ]
    return ComparedTexts(
        heading=f"Revisions of memory: {title_of(canon)}",
        names=[f"revision {number}" for number, *_ in rows],
        columns=lambda _: (("#", 5), ("Made", 23), ("By", 10), ("", 12)),
        rows=rows,
        first=(after - 1 if after else 1, after),
        compare=lambda one, other: Comparison(comparison_of(revisions[one], revisions[other])),
    )


def revisions_of(block: MemoryBlock, others: Sequence[MemoryBlock]) -> list[MemoryBlock]:
    """Return the revisions of a block that counts, itself among them, the oldest first.

    `others` are the blocks of the session that do not count.
    """
    same = [other for other in others if other.type is block.type and other.place == block.place]
    return sorted((*same, block), key=lambda one: (one.revision, one.created_at))


def maker_of(block: MemoryBlock) -> str:
    """Return who made a revision."""
    is_by_gm = block.is_by_gm or block.type is BlockType.CANON_CORRECTION
    return "the GM" if is_by_gm else "a model"


def comparison_of(before: MemoryBlock, after: MemoryBlock) -> list[Passage]:
    """Return how two revisions differ: "- " is only in `before`, "+ " only in `after`.

    Lines that both have are left out where no difference is near.
    """
    lines = compared(before, after)
    different = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    if not different:
        return [Passage(SAME)]
    near = {at for number in different for at in range(number - AROUND, number + AROUND + 1)}
    parts: list[list[str]] = []
    previous = -2
    for number, line in enumerate(lines):
        if number in near:
            if number != previous + 1 or not parts:
                parts.append([GAP] if number else [])
            parts[-1].append(line)
            previous = number
    if previous + 1 < len(lines):
        parts[-1].append(GAP)
    return [Passage(clean("\n".join(part))) for part in parts]
