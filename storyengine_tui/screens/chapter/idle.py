"""Detects that the GM is idle, for work that can wait."""

import asyncio
from typing import Final

IDLE_SECONDS: Final = 0.5
"""Seconds without a key after which the GM is idle."""


class IdleDetector:
    """Is told of every key, and waits until there is none for a while."""

    def __init__(self) -> None:
        self._touched = asyncio.Event()
        self._is_idle = False

    def touch(self) -> None:
        """A key came."""
        self._touched.set()
        self._is_idle = False

    async def wait_until_idle(self) -> None:
        """Return when there was no key for a while; at once, where there was none since it was idle."""
        await asyncio.sleep(0)  # A key that waits is heard first.
        while not self._is_idle:
            self._touched.clear()
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._touched.wait()
            except TimeoutError:
                self._is_idle = True
