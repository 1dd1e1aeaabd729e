"""Creates a save point at every summary, in the background."""

import asyncio
import logging

from core.domain.errors import StoryEngineError
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.save_points.service import SavePoints
from core.engine.sync.notifications import MemoryAppended
from core.engine.sync.session_writer import SessionWriter

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS = 5.0
"""Seconds to wait for a save point under way when the session is closed; a later one covers its rows too."""


class AutoSaver:
    """Background task of an open session that creates a save point after new memory."""

    def __init__(self, writer: SessionWriter, slots: SavePoints) -> None:
        self._writer = writer
        self._slots = slots
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to listen, unless the task runs already."""
        if self._task is not None:
            return
        self._task = asyncio.create_task(self._run(), name="save slots")

    async def create_now(self, occasion: str) -> None:
        """Create a save point at once; raise StorageError when it cannot be stored."""
        await self._slots.create(self._writer.snapshot.session.id, occasion)

    async def aclose(self) -> None:
        """Wait for the save point under way, and end; the listeners are closed already."""
        if self._task is None:
            return
        _, late = await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_SECONDS)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_SECONDS)

    async def _run(self) -> None:
        with self._writer.listeners.listen() as listener:
            async for notification in listener:
                # A window that follows receives this too; only the writer creates the save point.
                if not isinstance(notification, MemoryAppended) or self._writer.lease is None:
                    continue
                if notification.block.type is not BlockType.CANON_CORRECTION:
                    await self._create_for(notification.block)

    async def _create_for(self, block: MemoryBlock) -> None:
        try:
            await self._slots.create(block.session_id, _occasion(block))
        except StoryEngineError as error:
            log.warning("no save point was created at the summary: %s", error)
        except Exception:  # the chapter itself is stored, and the next summary creates one again
            log.exception("no save point was created at the summary")


def _occasion(block: MemoryBlock) -> str:
    if block.type is BlockType.WORLD_CHAPTER_LOCK:
        return "the chapter was locked"
    return f"summary of prompts {block.first}–{block.last}"
