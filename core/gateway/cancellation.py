"""The GM's wish to stop a request, which also says when its call makes room for another."""

import asyncio


class Cancellation:
    """The GM's wish to stop a request: ends the call that runs, and keeps the next from beginning."""

    def __init__(self) -> None:
        self.is_requested = False
        self.is_put_back = False
        """Whether it is not the GM's wish: the call makes room, and the request waits for its turn again."""
        self._task: asyncio.Task[None] | None = None

    def request(self, *, is_put_back: bool = False) -> None:
        """Stop now; what is being stored is not touched. The GM's wish goes before any other."""
        self.is_put_back = is_put_back and (self.is_put_back or not self.is_requested)
        self.is_requested = True
        if self._task is not None:
            self._task.cancel()

    def attach(self, task: asyncio.Task[None] | None) -> None:
        """Name the task that a cancellation ends; None when no call runs."""
        self._task = task
        if task is not None and self.is_requested:
            task.cancel()
