"""Detects the loss of the writer's lock before the next change is refused (design 6)."""

import asyncio
import logging

from core.domain.errors import StorageError
from core.engine.sync.session_writer import SessionWriter
from core.store import SessionStore

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds between two queries for the holder of a lost lock."""


class LeaseWatch:
    """A background task that waits until the lock's connection is lost, then checks for another writer.

    It does not reacquire the lock, so that an idle window does not lock others out; the next change does.
    """

    def __init__(self, store: SessionStore, writer: SessionWriter) -> None:
        self._store = store
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to watch, unless the task runs already."""
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
                log.warning("the writer could not be queried", exc_info=error)
            else:
                if holder is not None:
                    await self._writer.hear_of_writer(holder)
            if self._writer.lease is not None and self._writer.lease.is_lost:
                await asyncio.sleep(POLL_SECONDS)
