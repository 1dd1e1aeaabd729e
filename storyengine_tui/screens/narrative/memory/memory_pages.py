"""A long memory in pages, as the first cell of tab 3 shows it."""

import asyncio
from collections.abc import Callable, Sequence

from core.domain.prompt_range import PromptRange
from core.domain.story.memory import BlockType, MemoryBlock
from core.text.numbers import counted

PAGE = 100
"""Number of blocks on a page: they cover 700 prompts, and wrapping them takes a few milliseconds."""
SEARCH_STEP = 20
"""Blocks that are searched between two yields to the event loop."""


class MemoryPages:
    """All blocks of a session, oldest first, and the run of them that is shown: at first the newest."""

    def __init__(self, blocks: Sequence[MemoryBlock] = (), size: int = PAGE) -> None:
        self.blocks = list(blocks)
        self._size = size
        self._stop = len(self.blocks)

    @property
    def start(self) -> int:
        """The number of the first block that is shown, from 0."""
        return max(0, self._stop - self._size)

    @property
    def shown(self) -> list[MemoryBlock]:
        """The blocks that are shown."""
        return self.blocks[self.start : self._stop]

    @property
    def has_earlier(self) -> bool:
        """Whether there are blocks before the shown ones."""
        return self.start > 0

    @property
    def has_later(self) -> bool:
        """Whether there are blocks after the shown ones."""
        return self._stop < len(self.blocks)

    @property
    def are_all_shown(self) -> bool:
        """Whether every block is shown."""
        return len(self.shown) == len(self.blocks)

    def append(self, block: MemoryBlock) -> None:
        """Add a block unless it is known; show it if the newest blocks are shown."""
        if any(known.id == block.id for known in self.blocks[-self._size :]):
            return
        was_newest = not self.has_later
        self.blocks.append(block)
        if was_newest:
            self._stop = len(self.blocks)

    def turn(self, step: int) -> None:
        """Show the previous (-1) or the next page (1), if there is one."""
        self.show(self.start - 1 if step < 0 else self._stop)

    def show(self, number: int) -> None:
        """Show the page that holds block `number`; pages are counted from the end."""
        number = min(max(0, number), len(self.blocks) - 1)
        later_pages = (len(self.blocks) - 1 - number) // self._size
        self._stop = len(self.blocks) - later_pages * self._size

    async def find(self, is_wanted: Callable[[MemoryBlock], bool], step: int) -> int | None:
        """Return the next wanted block beyond the shown ones, or before them if `step` is -1.

        It wraps around at the ends and looks at the shown ones last; None if there is none.
        """
        count, edge = len(self.blocks), self.start if step < 0 else self.start + len(self.shown) - 1
        for steps in range(1, count + 1):
            number = (edge + step * steps) % count
            if is_wanted(self.blocks[number]):
                return number
            if steps % SEARCH_STEP == 0:
                await asyncio.sleep(0)
        return None


def title_text(viewpoint: str) -> str:
    """Return the heading of memory, as the GM or the character `viewpoint` knows it."""
    return f"Structured memory, as {viewpoint} sees it" if viewpoint else "Structured memory"


def count_text(blocks: Sequence[MemoryBlock], work: str) -> str:
    """Return what is being done to blocks, how many there are, and about which prompts.

    What changes comes first: beside the keys that page the end has no room in 80 columns.
    """
    if not blocks:
        return ""
    count = counted(len(blocks), "block")
    last = blocks[-1].last
    text = f"{count}, {PromptRange(1, last).named}" if last else count
    return f"{work} · {text}" if work else text


def found_text(count: int, current: int | None, are_all_shown: bool) -> str:
    """Return the number of the current match and of how many, or that there are no matches."""
    if not count:
        return "not found" if are_all_shown else "not here, Enter goes on"
    return f"{'–' if current is None else current + 1}/{count}" + ("" if are_all_shown else " here")


def first_delta(blocks: Sequence[MemoryBlock], top: MemoryBlock) -> MemoryBlock | None:
    """Return the first block of prompts from `top` on; without one, the last before it."""
    deltas = [block for block in blocks if block.type is BlockType.TURN_DELTA]
    return next((block for block in deltas if block.place >= top.place), deltas[-1] if deltas else None)
