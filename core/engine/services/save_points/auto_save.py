"""Creates a save point at every summary, in the background."""

from core.domain.prompt_range import PromptRange
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.services.save_points.save_points import SavePoints
from core.engine.sync.notifications import MemoryAppended, Notification
from core.engine.sync.session_tasks import ListeningTask
from core.engine.sync.session_writer import SessionWriter


class AutoSaver(ListeningTask):
    """Background task of an open session that creates a save point after new memory."""

    name = "save points"
    failure = "no save point was created at the summary"

    def __init__(self, writer: SessionWriter, points: SavePoints) -> None:
        super().__init__(writer)
        self._points = points
        self._newest: MemoryBlock | None = None

    async def create_now(self, occasion: str) -> None:
        """Create a save point at once; raise StorageError when it cannot be stored."""
        state = self._writer.snapshot
        await self._points.create(state.session.id, occasion, state=state)

    async def _receive(self, notification: Notification) -> None:
        # A window that follows receives this too; only the writer creates the save point.
        if not isinstance(notification, MemoryAppended) or self._writer.lease is None:
            return
        block, before = notification.block, self._newest
        self._newest = block
        if block.type is not BlockType.CANON_CORRECTION and not _is_same_summary(block, before):
            await self.create_now(_occasion(block))


def _is_same_summary(block: MemoryBlock, before: MemoryBlock | None) -> bool:
    """Whether both are of one summary, which has a block for each audience and is stored as a whole."""
    if before is None or (block.type, block.first, block.last) != (before.type, before.first, before.last):
        return False
    return block.ordinal > before.ordinal


def _occasion(block: MemoryBlock) -> str:
    if block.type is BlockType.WORLD_CHAPTER_LOCK:
        return "the chapter was locked"
    return f"summary of {PromptRange(block.first, block.last).named}"
