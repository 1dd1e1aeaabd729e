"""Base class of an open session's background tasks that react to notifications."""

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import ClassVar, Final

from core.domain.errors import StoryEngineError
from core.engine.sync.notifications import Notification
from core.engine.sync.session_writer import SessionWriter

log = logging.getLogger(__name__)

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
