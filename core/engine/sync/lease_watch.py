"""Detects the loss of the writer's lock before the next change is refused (design 6)."""

import asyncio
import logging

from core.domain.errors import StorageError
from core.engine.sync.store_task import StoreTask

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds between two queries for the holder of a lost lock."""


class LeaseWatch(StoreTask):
    """A background task that waits until the lock's connection is lost, then checks for another writer.

    It does not reacquire the lock, so that an idle window does not lock others out; the next change does.
    """

    name = "lease watch"

    async def _run(self) -> None:
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
