"""Limits how long a command waits for a database that is away, and reports the wait."""

import asyncio
from collections.abc import Callable

from core.config.password import in_words
from core.domain.errors import ErrorCode, StorageError, StoryEngineError

STORAGE_WAIT = 600.0
"""Seconds: long enough to make room on a disk or to restart a server; a script must not hang all night."""


class Outage:
    """Bounds the wait of one task; the engine tries again by itself for as long as it lasts."""

    def __init__(self, task: asyncio.Task[None], say: Callable[[str], None]) -> None:
        self._task = task
        self._say = say
        self._timer: asyncio.TimerHandle | None = None
        self._trouble: StoryEngineError | None = None
        self._is_over = False

    def begin(self, trouble: StoryEngineError) -> None:
        """Say what is wrong and how long the task waits at most."""
        if self._timer is not None:
            return
        self._trouble = trouble
        self._say(f"{trouble.message} {trouble.hint}".strip())
        self._say(f"The play waits for it, {in_words(STORAGE_WAIT)} at most.")
        self._timer = asyncio.get_running_loop().call_later(STORAGE_WAIT, self._give_up)

    def end(self) -> None:
        """Say that the database is back."""
        self.close()
        self._say("The database is back, and the play goes on.")

    def close(self) -> None:
        """End the wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def bounded(self) -> None:
        """Return when the task has ended; raise StorageError when the database was away for too long."""
        try:
            await self._task
        except asyncio.CancelledError:
            if not self._is_over:
                raise
            raise StorageError(
                ErrorCode.STORAGE_SAVE_FAILED,
                f"The database took nothing for {in_words(STORAGE_WAIT)}; what it had stored before is safe.",
                f"{self._trouble.hint if self._trouble else ''} Then run the same command: it goes on there, "
                "and asks again for a reply that could not be stored.".strip(),
            ) from self._trouble
        finally:
            self.close()

    def _give_up(self) -> None:
        self._is_over = True
        self._task.cancel()
