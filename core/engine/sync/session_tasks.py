"""Background tasks of an open session: they watch the store, a lost lock (design 6), or notifications."""

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import ClassVar, Final

from core.domain.errors import StorageError, StoryEngineError
from core.engine.sync.notifications import Notification, StorageTrouble
from core.engine.sync.session_writer import SessionWriter
from core.storage.session_store import SessionStore

log = logging.getLogger(__name__)


class StoreTask(ABC):
    """A background task that runs until it is closed."""

    name: ClassVar[str]

    def __init__(self, store: SessionStore, writer: SessionWriter) -> None:
        self._store = store
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task, unless it runs already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name=self.name)

    async def aclose(self) -> None:
        """End the task; an error that has ended it already is logged."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()):
            log.error("the %s ended with an error", self.name, exc_info=error)

    @abstractmethod
    async def _run(self) -> None:
        """Watch until the task is cancelled."""


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


CLOSE_TIMEOUT_SECONDS: Final = 5.0
"""Seconds to wait for running work when the session is closed; work that is lost then is done later."""


class ListeningTask(ABC):
    """Background task of an open session that receives its notifications, one after the other."""

    name: ClassVar[str]
    """The name of the task."""
    failure: ClassVar[str]
    """Log message when a notification could not be followed; the session goes on."""

    def __init__(self, writer: SessionWriter) -> None:
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to listen, unless the task runs already."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=self.name)

    async def aclose(self) -> None:
        """Wait for running work, and end; the listeners are closed already."""
        if self._task is None:
            return
        _, late = await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_SECONDS)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_SECONDS)

    async def _run(self) -> None:
        with self._writer.listeners.listen() as listener:
            async for notification in listener:
                try:
                    await self._receive(notification)
                except StoryEngineError as error:
                    log.warning("%s: %s", self.failure, error)
                except Exception:  # the chapter itself is stored, and the next notification is followed again
                    log.exception(self.failure)

    @abstractmethod
    async def _receive(self, notification: Notification) -> None:
        """Do what a notification calls for."""
