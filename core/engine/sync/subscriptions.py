"""Listeners of a session; publishing a notification never waits for a listener."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from core.engine.sync.notifications import Notification, TextArrived


class Listener:
    """A queue of notifications for one reader; unread text is joined, so a slow reader does not lag far."""

    def __init__(self) -> None:
        self._waiting: deque[Notification] = deque()
        self._arrived = asyncio.Event()
        self._is_closed = False

    def put(self, notification: Notification) -> None:
        """Add a notification without waiting."""
        last = self._waiting[-1] if self._waiting else None
        if (
            isinstance(notification, TextArrived)
            and isinstance(last, TextArrived)
            and last.request_id == notification.request_id
        ):
            self._waiting[-1] = TextArrived(notification.request_id, last.text + notification.text)
        else:
            self._waiting.append(notification)
        self._arrived.set()

    def close(self) -> None:
        """End the iteration after the notifications that are queued."""
        self._is_closed = True
        self._arrived.set()

    async def batches(self) -> AsyncIterator[Sequence[Notification]]:
        """Yield all queued notifications at once, so that those of one commit arrive together."""
        while True:
            if self._waiting:
                batch, self._waiting = self._waiting, deque()
                yield batch
            elif self._is_closed:
                return
            else:
                self._arrived.clear()
                await self._arrived.wait()

    async def __aiter__(self) -> AsyncIterator[Notification]:
        async for batch in self.batches():
            for notification in batch:
                yield notification


class Listeners:
    """The listeners of one open session."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._is_closed = False

    def publish(self, *notifications: Notification) -> None:
        """Add notifications to the queue of every listener."""
        for listener in self._listeners:
            for notification in notifications:
                listener.put(notification)

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        """Yield a listener for everything that is published inside the `with` block."""
        listener = Listener()
        self._listeners.add(listener)
        if self._is_closed:
            listener.close()
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            listener.close()

    def close(self) -> None:
        """End the iteration of every present and future listener."""
        self._is_closed = True
        for listener in self._listeners:
            listener.close()
