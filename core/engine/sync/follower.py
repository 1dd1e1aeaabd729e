"""Follows a session that another window writes, by reading the changes after each of its commits."""

import asyncio
import logging

from core.domain.errors import StorageError
from core.engine.sync.notifications import StorageTrouble
from core.engine.sync.store_task import StoreTask

log = logging.getLogger(__name__)

RESTART_SECONDS = 2.0
"""Seconds until following restarts after an error of the store."""


class Follower(StoreTask):
    """A background task that publishes changes of another window and never writes."""

    name = "follower"

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except StorageError as error:
                log.warning("following was interrupted", exc_info=error)
                self._writer.listeners.publish(StorageTrouble(error))
            await asyncio.sleep(RESTART_SECONDS)

    async def _follow(self) -> None:
        async with self._store.follow(self._writer.snapshot.session.id) as commits:
            # Commits between the first read and the start of listening.
            await self._writer.refresh(of_bank=True)
            async for of_bank in commits:
                await self._writer.refresh(of_bank=of_bank)
