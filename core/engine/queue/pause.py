"""Whether the queue is paused: then nothing new begins, in any window of this database (design 17)."""

from collections.abc import Awaitable, Callable


class QueueSwitch:
    """Keeps whether the queue is paused, and tells those who wait for a change."""

    def __init__(self, *, is_paused: bool = False) -> None:
        self._is_paused = is_paused
        self._messages = 0
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_paused(self) -> bool:
        """Whether nothing new begins."""
        return self._is_paused

    def turn(self, *, is_paused: bool) -> None:
        """Adopt what the database says."""
        self._messages += 1
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            for listener in tuple(self._listeners):
                listener()

    async def learn(self, ask: Callable[[], Awaitable[bool]]) -> None:
        """Adopt the answer to `ask`, unless a message comes meanwhile: one of any newer change comes too."""
        before = self._messages
        is_paused = await ask()
        if self._messages == before:
            self.turn(is_paused=is_paused)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)
