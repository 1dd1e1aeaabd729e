"""A text that several windows may write at once: each keeps its own, until it is stored or discarded."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Self

from core.config.files.private_files import hold, release
from storyengine_tui.screens.shared.kept_text import KeptText

log = logging.getLogger(__name__)


class WindowText:
    """A file that is this window's while a lock is held; the system releases it however the program ends."""

    def __init__(self, kept: KeptText, lock: int | None) -> None:
        self.kept = kept
        self._lock = lock

    @classmethod
    def of(cls, files: Iterable[KeptText]) -> Self:
        """Return the file of a window that ended and left its text, else one that is free; blocking."""
        files = sorted(files, key=lambda one: not one.file.exists())
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
    async def take(cls, files: Iterable[KeptText]) -> Self:
        """Do as `of` beside the keys; a caller that was cancelled meanwhile keeps no file from others."""
        taking = asyncio.create_task(asyncio.to_thread(cls.of, files))
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


class DialogText:
    """Text of a dialog, in a file that is of this window alone from the first look at it on."""

    def __init__(self, files: Iterable[KeptText]) -> None:
        self._files = files
        self._text: WindowText | None = None

    @property
    def _own(self) -> KeptText:
        if self._text is None:
            self._text = WindowText.of(self._files)
        return self._text.kept

    def read(self) -> str:
        """Return what a window that ended has left, or an empty text."""
        return self._own.read()

    def keep(self, text: str) -> None:
        """Replace the text; an empty one deletes it."""
        self._own.keep(text)

    def forget(self) -> None:
        """Delete the text."""
        self._own.forget()

    def close(self) -> None:
        """Let another window have the file, and what is kept in it."""
        if self._text is not None:
            self._text.close()
            self._text = None
