"""An engine on a store in memory with one session open, and everything that the session has said."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from core.config.models.assignments import defaults_for
from core.domain.clock import Clock, utc_now
from core.engine.engine import Engine
from core.engine.engine_settings import CallRules
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import Notification
from core.gateway.embedding_service import EmbeddingPlan
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Script
from core.storage.snapshot import Snapshot
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.values.sessions import waiting

N = TypeVar("N", bound=Notification)


class Room:
    """An engine on a store in memory, and everything that its session has said."""

    def __init__(self, snapshot: Snapshot, *entries: Entry, backoff: float = 3_600.0) -> None:
        self.rules, self.play = CallRules(), waiting(backoff)
        self.choices = defaults_for("scripted")
        self.embedding: EmbeddingPlan | None = None
        self.clock: Clock = utc_now
        self.store = FaultyStore(snapshot)
        self.provider = ScriptedProvider(Script(reply=entries))
        self.notifications: list[Notification] = []
        self._arrived = asyncio.Condition()

    def engine(self) -> Engine:
        return Engine(
            self.store,
            self.provider,
            self.choices,
            label="here",
            rules=self.rules,
            play=self.play,
            embedding=self.embedding,
            clock=self.clock,
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[SessionHandle]:
        session = await self.engine().open(self.store.snapshot.session.id)
        hears = asyncio.create_task(self._hear(session))
        try:
            async with asyncio.timeout(60):
                yield session
        finally:
            await session.aclose()
            await hears

    async def _hear(self, session: SessionHandle) -> None:
        with session.listen() as listener:
            async for notification in listener:
                async with self._arrived:
                    self.notifications.append(notification)
                    self._arrived.notify_all()

    async def heard(self, kind: type[N], where: Callable[[N], bool] = lambda _: True) -> N:
        """Return the first notice of a kind, of those that are wanted, once there is one."""
        async with self._arrived:
            while not (
                found := [
                    notification
                    for notification in self.notifications
                    if isinstance(notification, kind) and where(notification)
                ]
            ):
                await self._arrived.wait()
        return found[0]
