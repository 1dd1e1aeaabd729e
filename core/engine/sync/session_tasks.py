"""Background tasks of an open session: they watch the store, a lost lock (design 6), or notifications."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from core.domain.errors import StorageError, StoryEngineError
from core.engine.sync.notifications import Notification, StorageRecovered, StorageTrouble
from core.engine.sync.session_writer import SessionWriter

log = logging.getLogger(__name__)


CANCEL_TIMEOUT_SECONDS: Final = 10.0
"""Seconds to wait for a task that was cancelled."""


class SessionTask(ABC):
    """A background task of an open session."""

    name: ClassVar[str]
    patience: ClassVar[float] = 0.0
    """Seconds to wait for running work when the session is closed, before the task is cancelled."""
    _task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the task was started and has not ended."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Start the task, unless it runs already."""
        if not self.is_running:
            self._task = asyncio.create_task(self._run(), name=self.name)
            self._task.add_done_callback(self._ended)

    async def aclose(self) -> None:
        """End the task."""
        if self._task is None:
            return
        _, late = await asyncio.wait({self._task}, timeout=self.patience)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CANCEL_TIMEOUT_SECONDS)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.error("the %s ended with an error", self.name, exc_info=error)

    @abstractmethod
    async def _run(self) -> None:
        """Do the work of the task until it is cancelled."""


RESTART_SECONDS = 2.0
"""Seconds until following restarts after an error of the store."""


class Follower(SessionTask):
    """A background task that publishes changes of another window and never writes."""

    name = "follower"

    def __init__(self, writer: SessionWriter) -> None:
        self._writer = writer
        self._logged = ""
        """The last reason that was logged; empty once it follows again."""

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except StorageError as error:
                # Once: a chapter that another window deleted is asked for as long as this one shows it.
                reason = repr(error.__cause__ or error)
                if reason != self._logged:
                    log.warning("following was interrupted: %s", reason)
                self._logged = reason
                self._writer.listeners.publish(StorageTrouble(error))
            await asyncio.sleep(RESTART_SECONDS)

    async def _follow(self) -> None:
        async with self._writer.store.follow(self._writer.snapshot.session.id) as commits:
            # Commits between the first read and the start of listening.
            await self._writer.refresh(of_bank=True)
            self.note_recovery()
            async for of_bank in commits:
                await self._writer.refresh(of_bank=of_bank)

    def note_recovery(self) -> None:
        """Tell that the session could be read, if that it could not was told before."""
        if self._logged:
            self._logged = ""
            self._writer.listeners.publish(StorageRecovered())


POLL_SECONDS = 1.0
"""Seconds between two queries for the holder of a lost lock."""


class LeaseWatch(SessionTask):
    """A background task that waits until the lock's connection is lost, then checks for another writer.

    It does not reacquire the lock, so that an idle window does not lock others out; the next change does.
    Until then no message of a pause comes, so it asks for that too.
    """

    name = "lease watch"

    def __init__(self, writer: SessionWriter, learn_pause: Callable[[], Awaitable[None]]) -> None:
        self._writer, self._learn_pause = writer, learn_pause

    async def _run(self) -> None:
        while (lease := self._writer.lease) is not None:
            await lease.until_lost()
            try:
                holder = await self._writer.store.writer_of(lease.session_id)
                await self._learn_pause()
            except StorageError as error:
                log.warning("the writer could not be queried", exc_info=error)
            else:
                if holder is not None:
                    await self._writer.hear_of_writer(holder)
            if self._writer.lease is not None and self._writer.lease.is_lost:
                await asyncio.sleep(POLL_SECONDS)


class ListeningTask(SessionTask):
    """Background task of an open session that receives its notifications, one after the other.

    It ends by itself when the listeners are closed; work that is lost then is done later.
    """

    patience = 5.0
    failure: ClassVar[str]
    """Log message when a notification could not be followed; the session goes on."""

    def __init__(self, writer: SessionWriter) -> None:
        self._writer = writer

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
