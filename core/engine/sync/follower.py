"""Follows a session that another window writes, by reading the changes after each of its commits."""

import asyncio
import logging

from core.domain.errors import StorageError
from core.engine.sync.notifications import StorageTrouble
from core.engine.sync.session_writer import SessionWriter
from core.store import SessionStore

log = logging.getLogger(__name__)

RESTART_SECONDS = 2.0
"""Seconds until following restarts after an error of the store."""


class Follower:
    """A background task that publishes changes of another window and never writes."""

    def __init__(self, store: SessionStore, writer: SessionWriter) -> None:
        self._store = store
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to follow, unless the task runs already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep_following(), name="follower")

    async def aclose(self) -> None:
        """Stop following."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled() and (error := self._task.exception()):
            log.error("the follower ended with an error", exc_info=error)
        self._task = None

    async def _keep_following(self) -> None:
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
            await self._writer.refresh()
            async for _ in commits:
                await self._writer.refresh()
