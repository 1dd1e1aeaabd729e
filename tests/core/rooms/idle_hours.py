"""Time that passes only when a test says so, for what waits while the GM is idle."""

import asyncio
from collections.abc import Callable

from core.engine.services.speaking.afterthoughts import IdleClock


class IdleHours:
    """A clock in seconds, and those who sleep by it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: dict[asyncio.Future[None], float] = {}
        self._fell_asleep = asyncio.Event()

    @property
    def clock(self) -> IdleClock:
        """The clock as the engine takes it."""
        return IdleClock(now=lambda: self.now, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers[future] = self.now + seconds
        self._fell_asleep.set()
        try:
            await future
        finally:
            del self._sleepers[future]

    @property
    def is_anyone_waiting(self) -> bool:
        return any(not future.done() for future in self._sleepers)

    async def begun(self) -> None:
        """Return when someone sleeps."""
        while not self.is_anyone_waiting:
            self._fell_asleep.clear()
            await self._fell_asleep.wait()

    async def pass_by(self, seconds: float, task: Callable[[], asyncio.Task[None] | None]) -> None:
        """Let time pass; after each timer wait until the task has asked, and sleeps again or has ended."""
        until = self.now + seconds
        while True:
            live = {future: due for future, due in self._sleepers.items() if not future.done()}
            if not live or min(live.values()) > until:
                break
            first = min(live, key=lambda future: live[future])
            self.now = live[first]
            self._fell_asleep.clear()
            first.set_result(None)
            slept = asyncio.ensure_future(self._fell_asleep.wait())
            while not slept.done():
                running = task()
                if running is None or running.done():
                    break
                await asyncio.wait({slept, running}, return_when=asyncio.FIRST_COMPLETED)
            slept.cancel()
        self.now = until
