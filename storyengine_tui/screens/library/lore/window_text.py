"""The entry that is typed in a window, in a file that no other window with the lorebook reads or writes."""

import asyncio
import logging
from pathlib import Path
from typing import Self

from core.config.files.private_files import hold, release
from core.domain.ids import LorebookId
from storyengine_tui.screens.shared.kept_text import KeptText

log = logging.getLogger(__name__)


class WindowText:
    """A file that is this window's while a lock is held; the system releases it however the program ends."""

    def __init__(self, kept: KeptText, lock: int | None) -> None:
        self.kept = kept
        self._lock = lock

    @classmethod
    def of(cls, lorebook_id: LorebookId, folder: Path) -> Self:
        """Return the file of a window that ended and left its text, else one that is free; blocking."""
        files = sorted(KeptText.entries_of(lorebook_id, folder), key=lambda one: not one.file.exists())
        for kept in files:
            try:
                lock = hold(kept.file)
            except OSError as error:
                log.error("%s could not be locked: %s", kept.file, error)
                continue
            if lock is not None:
                return cls(kept, lock)
        return cls(files[-1], None)

    @classmethod
    async def take(cls, lorebook_id: LorebookId, folder: Path) -> Self:
        """Do as `of` beside the keys; a caller that was cancelled meanwhile keeps no file from others."""
        taking = asyncio.create_task(asyncio.to_thread(cls.of, lorebook_id, folder))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(lambda taken: taken.result().close())
            raise

    def close(self) -> None:
        """Let another window have the file, and what is kept in it."""
        if self._lock is not None:
            lock, self._lock = self._lock, None
            try:
                release(self.kept.file, lock)
            except OSError as error:
                log.error("the lock of %s could not be removed: %s", self.kept.file, error)
