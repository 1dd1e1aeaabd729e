"""Access to a session by one change at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.domain.errors import ErrorCode, StorageError


class ExclusiveAccess:
    """Access to a session, which one caller has at a time, the others in the order in which they came."""

    def __init__(self) -> None:
        self._mutex = asyncio.Lock()
        self._waiting = 0
        self._is_troubled = asyncio.Event()
        self.trouble: StorageError | None = None
        """The error for which the caller with access waits; None while the store answers."""

    @asynccontextmanager
    async def exclusive(self, *, is_patient: bool = True) -> AsyncIterator[None]:
        """Acquire access.

        Impatient callers fail at once while the current holder waits for an unreachable store: an outage may
        be long, and the GM must be told and be able to quit.
        """
        is_free = not self._mutex.locked() and not self._waiting  # then nothing comes between
        self._waiting += 1
        try:
            if is_patient or is_free:
                await self._mutex.acquire()
            else:
                await self._lock_unless_store_down()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self.trouble = None
            self._is_troubled.clear()
            self._mutex.release()

    def hold_up(self, error: StorageError) -> None:
        """Note that the caller with access waits because of `error`; the impatient fail from now on."""
        self.trouble = error
        self._is_troubled.set()

    async def _lock_unless_store_down(self) -> None:
        turn = asyncio.ensure_future(self._mutex.acquire())
        trouble = asyncio.ensure_future(self._is_troubled.wait())
        try:
            await asyncio.wait({turn, trouble}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if turn.done():  # no other code would release the mutex
                self._mutex.release()
            raise
        finally:
            trouble.cancel()
            turn.cancel()  # does nothing once the mutex is acquired
        if turn.done():
            return
        error = self.trouble or StorageError(ErrorCode.STORAGE_SAVE_FAILED)
        raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, hint=error.hint) from error
