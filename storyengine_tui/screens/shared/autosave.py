"""Stores what is typed within a second of the last key; saves never overlap (design 10)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from core.domain.errors import ErrorCode, SessionLockedError, StoryEngineError

log = logging.getLogger(__name__)
DEBOUNCE_SECONDS = 0.3
"""Seconds without a key after which a text is stored."""
MAX_DELAY_SECONDS = 0.5
"""Seconds after which a text is stored even while keys keep coming: less than one second, which leaves time
for a busy machine and for the disk."""
RETRY_SECONDS = 2.0
"""Seconds after which a save that failed is tried again."""
KEEP_SECONDS = 0.5
"""Seconds after which typed text is kept in a file while a save does not end, or waits to be tried again."""


class Autosave:
    """Calls `save` soon after `touch`; reports a failure and tries again, so that no text is lost.

    Where the database does not take the text, `keep` is called again and again to keep it in a file.
    """

    def __init__(
        self,
        save: Callable[[], Awaitable[None]],
        on_error: Callable[[StoryEngineError], None],
        on_saved: Callable[[], None] = lambda: None,
        keep: Callable[[], None] = lambda: None,
    ) -> None:
        self._save = save
        self._on_error = on_error
        self._on_saved = on_saved
        self._keep = keep
        self.rest_seconds = 0.0
        """Minimum seconds between automatic saves, for content that is slow to store."""
        self._touched = asyncio.Event()
        self.is_dirty = False
        """Whether something typed is not stored yet."""
        self._last_touch = 0.0
        self._mutex = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the background task; `stop` ends it."""
        if self._task is None:
            self._task = asyncio.create_task(self._watch(), name="autosave")

    async def stop(self) -> None:
        """Stop the background task; call `flush` before, to store what is not stored yet."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    def touch(self) -> None:
        """Note that something was typed."""
        self.is_dirty = True
        self._last_touch = asyncio.get_running_loop().time()
        self._touched.set()

    async def flush(self) -> None:
        """Store now what is not stored; raises StoryEngineError."""
        async with self._mutex:
            if not self.is_dirty:
                return
            self.is_dirty = False
            try:
                await self._save()
            except BaseException:  # Also when cancelled: what was typed is not stored yet.
                self.is_dirty = True
                raise
        self._on_saved()

    async def _watch(self) -> None:
        while True:
            await self._touched.wait()
            await self._debounce()
            try:
                await self._keeping(self.flush())
            except Exception as error:  # noqa: BLE001 - a bug must not end the saving
                self._tell(error)
                await self._keeping(asyncio.sleep(RETRY_SECONDS))
                self._touched.set()
            await asyncio.sleep(self.rest_seconds)

    async def _keeping(self, work: Coroutine[None, None, None]) -> None:
        """Do this, and keep what is typed for as long as it takes."""
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait({task}, timeout=KEEP_SECONDS))[0]:
                try:
                    self._keep()
                except Exception:  # a bug of the page must not end the saving
                    log.exception("a bug while typed text was kept in a file")
        finally:
            task.cancel()
            # Also for one that has failed just now: asyncio would report its error as never retrieved.
            await asyncio.gather(task, return_exceptions=True)
        await task

    def _tell(self, error: Exception) -> None:
        """Report a save that failed; after a bug, of this report too, the next save is tried all the same."""
        try:
            if isinstance(error, StoryEngineError):
                self._on_error(error)
            else:
                log.error("a bug while typed text was stored", exc_info=error)
                self._on_error(StoryEngineError(ErrorCode.STORAGE_SAVE_FAILED))
        except Exception:  # a bug of the page must not end the saving
            log.exception("a bug while the page was told of it")

    async def _debounce(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + MAX_DELAY_SECONDS
        while loop.time() < deadline:
            self._touched.clear()
            try:
                async with asyncio.timeout_at(min(self._last_touch + DEBOUNCE_SECONDS, deadline)):
                    await self._touched.wait()
            except TimeoutError:
                return


def unstored(what: str) -> SessionLockedError:
    """Return the error that says that `what` cannot be stored, since another window writes."""
    return SessionLockedError(
        f"Another window writes in this chapter, so {what} cannot be stored.", "Copy it before you leave."
    )
