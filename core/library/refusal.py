"""Refusals of cards and lorebooks, with one sentence for the GM.

The tables of the store import the bound from here; the readers of files are loaded by the first file.
"""

from typing import Final

from core.domain.errors import ErrorCode, StoryEngineError

LARGEST_FILE: Final = 64 * 1024 * 1024
"""Bytes of the largest file that is read."""


class FileRefusedError(StoryEngineError):
    """A card or a lorebook that cannot be read; nothing of it was kept."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(ErrorCode.ILLEGAL_COMMAND, message, hint)
