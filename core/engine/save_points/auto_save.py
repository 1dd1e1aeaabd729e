"""Takes a save slot at every summary, beside the play and never in its way."""

import asyncio
import logging

from core.domain.errors import StoryEngineError
from core.domain.memory import BlockType, MemoryBlock
from core.engine.save_points.service import SavePoints
from core.engine.sync.notifications import MemoryAppended
from core.engine.sync.session_writer import SessionWriter

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS = 5.0
"""Seconds that a slot may still take when the session is closed; without it only the next one is later."""


class AutoSaver:
    """Background task of an open session that creates a save point after new memory."""

    def __init__(self, writer: SessionWriter, slots: SavePoints) -> None:
        self._writer = writer
        self._slots = slots
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to listen, or go on."""
        if self._task is not None:
            return
        self._task = asyncio.create_task(self._run(), name="save slots")

    async def create_now(self, occasion: str) -> None:
        """Take a slot and return when it is stored; raise StorageError when it cannot be."""
        await self._slots.create(self._writer.snapshot.session.id, occasion)

    async def aclose(self) -> None:
        """Let the slot that is being taken be completed, and end; the listeners are closed already."""
        if self._task is None:
            return
        _, late = await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_SECONDS)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_SECONDS)

    async def _run(self) -> None:
        with self._writer.listeners.listen() as listener:
            async for notification in listener:
                # A window that only reads along hears of memory too; the one that writes takes the slot.
                if not isinstance(notification, MemoryAppended) or self._writer.lease is None:
                    continue
                if notification.block.type is not BlockType.CANON_CORRECTION:
                    await self._create_for(notification.block)

    async def _create_for(self, block: MemoryBlock) -> None:
        try:
            await self._slots.create(block.session_id, _occasion(block))
        except StoryEngineError as error:
            log.warning("no save slot was taken at the summary: %s", error)
        except Exception:  # the chapter is stored all the same, and the next summary takes one again
            log.exception("no save slot was taken at the summary")


def _occasion(block: MemoryBlock) -> str:
    if block.type is BlockType.WORLD_CHAPTER_LOCK:
        return "the chapter was locked"
    return f"summary of prompts {block.first}–{block.last}"
