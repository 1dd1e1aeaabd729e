"""Starts, restarts and stops the engine behind the first paint."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.engine.engine import Engine

log = logging.getLogger(__name__)


STOP_TIMEOUT = 30.0
"""Seconds that stopping the engine and the private server may take."""


class Runtime:
    """Owns the task of the engine: its database and provider are closed in the task that opened them."""

    def __init__(self, start: Callable[[], AbstractAsyncContextManager["Engine"]]) -> None:
        self._start = start
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_stopping(self) -> bool:
        """Whether the engine that was started last is to stop, perhaps before it runs."""
        return self._stop.is_set()

    async def start(self) -> "Engine":
        """Start the engine and return it once it runs.

        Raises StoryEngineError when it cannot be started, or the error of a bug; it may be tried again then.
        """
        await self.stop()
        self._stop = asyncio.Event()
        outcome: asyncio.Future[Engine] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(outcome), name="engine")
        return await outcome

    async def stop(self) -> None:
        """Stop the engine; every session must be closed before."""
        # Quitting and a dropped line may both stop it; the first takes the task, the other waits for it too.
        task = self._task
        if task is None:
            return
        self._stop.set()
        await asyncio.wait({task}, timeout=STOP_TIMEOUT)
        if self._task is not task:
            return
        self._task = None
        if not task.done():
            task.cancel()
            log.error("the engine did not stop within %s seconds", STOP_TIMEOUT)
        elif not task.cancelled() and (error := task.exception()):
            log.error("the engine ended with an error", exc_info=error)

    async def _live(self, outcome: "asyncio.Future[Engine]") -> None:
        try:
            async with self._start() as engine:
                # The caller of `start` may be cancelled by now; `stop` ends the engine all the same.
                if not outcome.done():
                    outcome.set_result(engine)
                await self._stop.wait()
        except Exception as error:  # a bug too is for the caller of `start`, which waits for it
            if outcome.done():
                raise
            outcome.set_exception(error)
        finally:
            if not outcome.done():
                outcome.cancel()
