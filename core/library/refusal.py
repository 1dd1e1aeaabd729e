"""The error for a card or a lorebook that is not taken, with one sentence for the GM."""

from core.domain.errors import ErrorCode, StoryEngineError


class FileRefusedError(StoryEngineError):
    """A card or a lorebook that cannot be read; nothing of it was kept."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(ErrorCode.ILLEGAL_COMMAND, message, hint)
