"""A long memory, a stretch at a time: pure, the blocks that are shown and the way to the others."""

from collections.abc import Sequence

from core.domain.memory import MemoryBlock

PAGE = 100
"""How many blocks are shown at once: seven hundred prompts, and a few milliseconds to wrap."""


class MemoryPages:
    """All blocks of a session, oldest first, and which run of them is shown: the newest at first."""

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
        """Whether there are blocks before those shown."""
        return self.start > 0

    @property
    def has_later(self) -> bool:
        """Whether there are blocks behind those shown."""
        return self._stop < len(self.blocks)

    def append(self, block: MemoryBlock) -> None:
        """Add a new block, and show it if the newest ones are shown; one that is known is not added."""
        if any(known.id == block.id for known in self.blocks[-self._size :]):
            return
        was_newest = not self.has_later
        self.blocks.append(block)
        if was_newest:
            self._stop = len(self.blocks)

    def turn(self, step: int) -> None:
        """Show the page before (-1) or behind (1), as far as there is one."""
        self.show(self.start - 1 if step < 0 else self._stop)

    def show(self, number: int) -> None:
        """Show the page that holds block `number`; pages are counted from the end."""
        number = min(max(0, number), len(self.blocks) - 1)
        pages_behind = (len(self.blocks) - 1 - number) // self._size
        self._stop = len(self.blocks) - pages_behind * self._size
