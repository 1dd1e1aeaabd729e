"""The base of tasks that watch the store for an open session."""

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import ClassVar

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
