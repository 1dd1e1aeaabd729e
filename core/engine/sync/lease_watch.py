"""Notices that the writer's lock is lost, before the next change would be refused (design 6)."""

import asyncio
import logging

from core.domain.errors import StorageError
from core.engine.sync.session_writer import SessionWriter
from core.store import SessionStore

log = logging.getLogger(__name__)

WAIT = 1.0
"""Seconds between two looks at who holds a lock that is lost here."""


class LeaseWatch:
    """One task that waits until the lock's connection breaks, then looks whether another window writes.

    It does not take the lock again: the next change does, and a window that is gone must not keep others out.
    """

    def __init__(self, store: SessionStore, writer: SessionWriter) -> None:
        self._store = store
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to watch; does nothing when it does already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="lease watch")

    async def aclose(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _watch(self) -> None:
        while (lease := self._writer.lease) is not None:
            await lease.until_lost()
            try:
                holder = await self._store.writer_of(lease.session_id)
            except StorageError as error:
                log.warning("who writes could not be asked", exc_info=error)
            else:
                if holder is not None:
                    await self._writer.hear_of_writer(holder)
            if self._writer.lease is not None and self._writer.lease.is_lost:
                await asyncio.sleep(WAIT)
