"""A queue for the view of it: it keeps what it is told, and answers as it was made to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.errors import ErrorCode, IllegalCommandError, StorageError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import Request
from core.engine.queue.entries import QueueEntry


@dataclass(frozen=True)
class Entry(QueueEntry):
    """A request of the queue, of this chapter and its model unless said otherwise."""

    request: Request
    session_title: str = "The lighthouse"
    lane: str = "own:o4-mini"
    waits_for: str = ""


@dataclass
class QueueDouble:
    """Notes each command; `refuses` is the reason with which the next one is refused."""

    listed: list[Entry] = field(default_factory=list)
    is_paused: bool = False
    refuses: str = ""
    told: list[tuple[object, ...]] = field(default_factory=list)
    cannot_be_read: bool = False
    gate: asyncio.Event | None = None
    """What the list waits for, if it does."""

    async def entries(self) -> Sequence[Entry]:
        if self.gate is not None:
            await self.gate.wait()
        if self.cannot_be_read:
            raise StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The store is away")
        return list(self.listed)

    async def pause(self) -> None:
        self._hear("pause")
        self.is_paused = True

    async def resume(self) -> None:
        self._hear("resume")
        self.is_paused = False

    async def stop(self, request_id: RequestId) -> None:
        self._hear("stop", request_id)

    async def drop(self, request_id: RequestId) -> None:
        self._hear("drop", request_id)
        self.listed = [entry for entry in self.listed if entry.request.id != request_id]

    async def retry(self, request_id: RequestId) -> None:
        self._hear("retry", request_id)

    async def move_up(self, request_id: RequestId) -> None:
        self._hear("move_up", request_id)

    async def edit(self, request_id: RequestId, text: str) -> None:
        self._hear("edit", request_id, text)

    async def clear_background(self) -> int:
        self._hear("clear")
        return 0

    async def recall(self, session_id: SessionId) -> None:
        self._hear("recall", session_id)

    def _hear(self, *command: object) -> None:
        if self.refuses:
            raise IllegalCommandError(self.refuses)
        self.told.append(command)
