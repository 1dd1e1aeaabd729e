"""The writer's locks that one window acquires, of which its own short changes wait for each other."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from core.domain.errors import SessionLockedError
from core.domain.ids import SessionId
from core.storage.session_store import Lease, SessionStore, WriterInfo


class WindowLeases:
    """Acquires writer's locks under the label of this window.

    A change of a closed session holds the lock for a moment. What else this window does with that session
    waits for it; otherwise it would find the session open in a window, which is this one.
    """

    def __init__(self, store: SessionStore, label: str) -> None:
        self.label: Final = label
        self._store = store
        self._turns: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    async def acquire(self, session_id: SessionId) -> Lease | WriterInfo:
        """Acquire the lock to keep it, or return its holder."""
        async with self._turn_of(session_id):
            return await self._store.acquire(session_id, self.label)

    @asynccontextmanager
    async def short(
        self, session_id: SessionId, refusal: Callable[[WriterInfo], SessionLockedError]
    ) -> AsyncIterator[Lease]:
        """Hold the lock for a change; raises `refusal` of its holder where the session is open."""
        async with self._turn_of(session_id):
            acquired = await self._store.acquire(session_id, self.label)
            if isinstance(acquired, WriterInfo):
                raise refusal(acquired)
            try:
                yield acquired
            finally:
                await acquired.aclose()

    def _turn_of(self, session_id: SessionId) -> asyncio.Lock:
        return self._turns.setdefault(session_id, asyncio.Lock())
