"""The queue of a store in memory: what several stores share, as windows share a server."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.domain.ids import SessionId
from core.domain.requests.request import Request
from core.domain.session.session import title_from
from core.storage.queue_store import QueuedRequest, QueueMessage, QueueSignal
from core.storage.snapshot import is_kept_in_snapshot
from tests.store.in_memory.memory_rows import Rows


@dataclass
class SharedQueue:
    """The shared state: the pause, the listeners, and the calls at each account by waiting time."""

    is_paused: bool = False
    listeners: list[Callable[[str], None]] = field(default_factory=list)
    calls: dict[str, list[tuple[Request, bool]]] = field(default_factory=dict)
    begun: dict[str, list[float]] = field(default_factory=dict)
    """When calls of the last minute began, by the names that they are counted under."""


class MemoryQueue:
    """One window's `QueueStore`."""

    def __init__(self, shared: SharedQueue, sessions: dict[SessionId, Rows]) -> None:
        self._shared, self._sessions = shared, sessions
        self._own: list[Callable[[str], None]] = []

    def subscribe(self, listener: Callable[[str], None]) -> None:
        self._shared.listeners.append(listener)
        self._own.append(listener)

    def tell_pause(self) -> None:
        """Tell this window, which begins to listen, whether the queue is paused."""
        for listener in self._own:
            listener(_pause(is_paused=self._shared.is_paused).payload)

    async def is_paused(self) -> bool:
        return self._shared.is_paused

    async def set_paused(self, *, is_paused: bool) -> None:
        self._shared.is_paused = is_paused
        await self.send(_pause(is_paused=is_paused))

    async def send(self, message: QueueMessage) -> None:
        for listener in tuple(self._shared.listeners):
            listener(message.payload)

    async def requests(self) -> Sequence[QueuedRequest]:
        return [
            QueuedRequest(
                request=request,
                session_title=title_from(rows.session.title, rows.tab1.chapter, rows.tab1.world),
                session_state=rows.session.state,
                is_open=rows.writer is not None,
                model=rows.tab1.profile_of(slot).model if (slot := getattr(request, "slot", None)) else "",
            )
            for rows in self._sessions.values()
            if rows.session.archived_at is None
            for request in rows.requests.values()
            if is_kept_in_snapshot(request)
        ]

    async def take_place(self, account: str, most: int, request: Request) -> bool:
        calls = self._shared.calls.setdefault(account, [])
        at = next((place for place, (one, _) in enumerate(calls) if one.id == request.id), None)
        if at is None:
            calls.append((request, False))
            at = len(calls) - 1
        if calls[at][1]:
            return True
        running = sum(is_running for _, is_running in calls)
        turns = [(one.level.first, place) for place, (one, _) in enumerate(calls)]
        before = [turn for turn, (_, runs) in zip(turns, calls, strict=True) if not runs and turn < turns[at]]
        if running + len(before) >= most:
            return False
        calls[at] = (request, True)
        return True

    async def leave_place(self, account: str, request: Request) -> None:
        calls = self._shared.calls.get(account, [])
        self._shared.calls[account] = [call for call in calls if call[0].id != request.id]
        await self.send(QueueMessage(QueueSignal.FREE, account=account))

    async def begin_call(self, name: str, most: int) -> float:
        now = asyncio.get_running_loop().time()
        begun = [one for one in self._shared.begun.get(name, []) if one > now - 60.0]
        if len(begun) >= most:
            return begun[-most] + 60.0 - now
        self._shared.begun[name] = [*begun, now]
        return 0.0


def _pause(*, is_paused: bool) -> QueueMessage:
    return QueueMessage(QueueSignal.PAUSED if is_paused else QueueSignal.RESUMED)
