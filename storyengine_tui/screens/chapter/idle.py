"""Detects that the GM is idle, for work that can wait."""

import asyncio
from typing import Final

IDLE_SECONDS: Final = 0.5
"""Seconds without a key after which it is quiet."""


class IdleDetector:
    """Is told of every key, and waits until there is none for a while."""

    def __init__(self) -> None:
        self._stirred = asyncio.Event()
        self._is_quiet = False

    def touch(self) -> None:
        """A key came."""
        self._stirred.set()
        self._is_quiet = False

    async def come(self) -> None:
        """Return when there was no key for a while; at once, where there was none since it was quiet."""
        await asyncio.sleep(0)  # A key that waits is heard first.
        while not self._is_quiet:
            self._stirred.clear()
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._stirred.wait()
            except TimeoutError:
                self._is_quiet = True
