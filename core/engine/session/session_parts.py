"""The services and workers of an open session, made by the engine before the session itself."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from core.agents.context_builder import ContextBuilder
from core.domain.requests.retry_policy import Backoffs
from core.engine.queue.background import BackgroundWorker
from core.engine.queue.worker import RequestWorker
from core.engine.services.save_points.auto_save import AutoSaver
from core.engine.services.speaking.heartbeats import Heartbeats
from core.engine.services.speaking.service import Afterthoughts
from core.engine.session.assist import Assist
from core.engine.session.cast_work import CastWork
from core.engine.session.condenser import Condenser
from core.engine.session.money import Money
from core.engine.sync.session_writer import SessionWriter


@dataclass(frozen=True, slots=True)
class SessionParts:
    """The services and workers of one open session, which start, wake and end together."""

    writer: SessionWriter
    builder: ContextBuilder
    worker: RequestWorker
    background: BackgroundWorker
    afterthoughts: Afterthoughts
    heartbeats: Heartbeats
    auto_saver: AutoSaver
    condenser: Condenser
    money: Money
    assist: Assist
    cast_work: CastWork
    backoffs: Backoffs
    fades_at: Callable[[], datetime | None]
    """Returns the current time where items of the memory bank fade by hours, else None."""
    make_vectors: Callable[[], Awaitable[None]]
    """Asks for the vectors that items lack."""
    prepare_search: Callable[[], Awaitable[None]]
    """Asks for the vectors that a search by meaning lacks; does nothing in a chapter that keeps no bank."""

    def start(self) -> None:
        """Start the workers; this window holds the writer's lock."""
        self.auto_saver.start()
        self.condenser.start()
        self.worker.start()
        self.background.wake()

    def wake(self) -> None:
        """Wake the workers, after a change of the session."""
        self.worker.wake()
        self.background.wake()
        self.afterthoughts.look()

    async def stop_calls(self) -> None:
        """Stop the calls that run, and make no other one."""
        await self.afterthoughts.aclose()
        await asyncio.gather(self.worker.aclose(), self.background.aclose())

    async def aclose(self) -> None:
        """End what listens to the session, after its last notification."""
        await self.auto_saver.aclose()
        await self.condenser.aclose()
