"""A store of one session that keeps everything in memory, for tests of the engine without a server."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.domain.draft import NarrativeDraft
from core.domain.errors import ErrorCode, SessionLockedError, StorageError
from core.domain.event import Event
from core.domain.ids import RequestId, SessionId
from core.domain.memory import MemoryBlock, folded
from core.domain.request import Artifact, Request, RequestState
from core.domain.save_point import SavePoint
from core.domain.session import SessionSummary
from core.store import Changes, Lease, Snapshot, WriterInfo, full_deltas_from
from tests.core.samples import NOW

_SETTLED = (RequestState.DONE, RequestState.FAILED)
AWAY = StorageError(ErrorCode.STORAGE_SAVE_FAILED)


class MemoryLease:
    """The writer's lock; a test breaks its connection with `lose`."""

    def __init__(self, store: "MemoryStore", label: str) -> None:
        self._store = store
        self.label = label
        self.epoch = store.epoch
        self.is_lost = False
        self.is_closed = False
        self._gone = asyncio.Event()

    @property
    def session_id(self) -> SessionId:
        return self._store.snapshot.session.id

    def lose(self) -> None:
        """Break the connection: the server gives the lock back."""
        self.is_lost = True
        self._gone.set()
        self._store.release(self)

    async def until_lost(self) -> None:
        await self._gone.wait()

    async def aclose(self) -> None:
        self.is_closed = True
        self._gone.set()
        self._store.release(self)


class MemoryStore:
    """What `core.store.SessionStore` promises, for one session; faults are put into `failures`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.epoch = 0
        self.writer: MemoryLease | None = None
        self.failures: list[Exception] = []
        """The next commits fail with these."""
        self.refuse_settling = 0
        """How many of the next commits that settle a request are refused for good."""
        self.failures_of_following: list[Exception] = []
        self.is_late = False
        """What fails is stored all the same: only the answer is lost."""
        self.commits: list[Changes] = []
        self.is_closed = False
        self.created: list[Changes] = []
        """New sessions, as they were stored."""
        self._events: list[Event] = list(snapshot.recent)
        self._blocks: list[MemoryBlock] = list(snapshot.blocks)
        self._drafts: list[NarrativeDraft] = []
        self._requests: dict[RequestId, Request] = {request.id: request for request in snapshot.requests}
        self._artifacts: list[Artifact] = []
        self._contents: dict[str, str] = {}
        self._slots: dict[int, SavePoint] = {}
        self._committed = asyncio.Condition()

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(name)

    def take(self, label: str) -> MemoryLease:
        """Take the writer's lock, whatever it takes: who has it is fenced out."""
        self.epoch += 1
        self.writer = MemoryLease(self, label)
        return self.writer

    def release(self, lease: MemoryLease) -> None:
        if self.writer is lease:
            self.writer = None

    async def acquire(self, session_id: SessionId, label: str) -> Lease | WriterInfo:
        return WriterInfo(label=self.writer.label, since=NOW) if self.writer else self.take(label)

    async def writer_of(self, session_id: SessionId) -> WriterInfo | None:
        return WriterInfo(label=self.writer.label, since=NOW) if self.writer else None

    async def commit(self, changes: Changes, lease: Lease) -> None:
        error = self.failures.pop(0) if self.failures else None
        if self.refuse_settling and any(request.state in _SETTLED for request in changes.requests):
            self.refuse_settling -= 1
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
        if error is None or self.is_late:
            if lease.epoch != self.epoch:
                raise SessionLockedError()
            self.store(changes)
            async with self._committed:
                self._committed.notify_all()
        if error is not None:
            raise error

    def store(self, changes: Changes) -> None:
        """Make changes true, whoever decided them."""
        self.commits.append(changes)
        self.snapshot = self.snapshot.after(changes)
        self._events += changes.events
        self._blocks += changes.blocks
        self._drafts += changes.drafts
        self._requests |= {request.id: request for request in changes.requests}
        self._contents |= {content.hash: content.text for content in changes.contents}
        for artifact in changes.artifacts:
            assert {artifact.input_ref, artifact.output_ref or artifact.input_ref} <= self._contents.keys()
            self._artifacts.append(artifact)

    async def create(self, changes: Changes) -> None:
        self.created.append(changes)

    async def sessions(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        session = self.snapshot.session
        if is_archived != (session.archived_at is not None):
            return []
        return [
            SessionSummary(
                id=session.id,
                title=session.title,
                state=session.state,
                prompt_index=session.prompt_index,
                draft_count=self.snapshot.draft_count,
                created_at=session.created_at,
                updated_at=session.updated_at,
                archived_at=session.archived_at,
            )
        ]

    async def archive(self, session_id: SessionId, at: datetime | None) -> None:
        self.snapshot = replace(self.snapshot, session=replace(self.snapshot.session, archived_at=at))

    async def aclose(self) -> None:
        self.is_closed = True

    async def load(self, session_id: SessionId) -> Snapshot:
        return replace(self.snapshot, blocks=(), is_memory_known=False)

    async def memory(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        return folded(tuple(self._blocks), full_deltas_from(self.snapshot.session))

    async def blocks(
        self, session_id: SessionId, *, after: int = -1, corrections: int = 0
    ) -> Sequence[MemoryBlock]:
        return [
            block
            for block in self._blocks
            if block.last > after or (block.last == after and block.ordinal > corrections)
        ]

    async def log(self, session_id: SessionId, *, first: int = 1, last: int | None = None) -> Sequence[Event]:
        beyond = float("inf") if last is None else last
        return [event for event in self._events if first <= event.prompt_index <= beyond]

    async def canon(
        self, session_id: SessionId, *, first: int = 1, last: int | None = None
    ) -> Sequence[Event]:
        return await self.log(session_id, first=first, last=last)

    async def newest_canon(self, session_id: SessionId, max_chars: int) -> Sequence[Event]:
        return list(self._events)

    async def drafts(self, session_id: SessionId) -> Sequence[NarrativeDraft]:
        return list(self._drafts)

    async def requests(self, session_id: SessionId) -> Sequence[Request]:
        return sorted(self._requests.values(), key=lambda request: request.id)

    async def artifacts(self, session_id: SessionId, **_: object) -> Sequence[Artifact]:
        return list(self._artifacts)

    async def contents(self, session_id: SessionId, hashes: Collection[str]) -> Mapping[str, str]:
        return {key: self._contents[key] for key in hashes}

    async def save_slots(self, session_id: SessionId) -> Sequence[SavePoint]:
        return [self._slots[number] for number in sorted(self._slots)]

    async def put_save_slot(self, slot: SavePoint) -> None:
        self._slots[slot.number] = slot

    async def drop_save_slot(self, session_id: SessionId, number: int) -> None:
        self._slots.pop(number, None)

    def forge(self, text: str) -> None:
        """Change the first word that was played, behind the program's back."""
        self._events[0] = replace(self._events[0], text=text)

    def copy(self) -> "MemoryStore":
        """Return a store with the same story and no save slots."""
        other = MemoryStore(self.snapshot)
        other._events, other._blocks, other._drafts = self._events, self._blocks, self._drafts
        return other

    @asynccontextmanager
    async def follow(self, session_id: SessionId) -> AsyncIterator[AsyncIterator[None]]:
        if self.failures_of_following:
            raise self.failures_of_following.pop(0)
        yield self._news()

    async def _news(self) -> AsyncIterator[None]:
        seen = len(self.commits)
        while True:
            async with self._committed:
                while len(self.commits) == seen:
                    await self._committed.wait()
                seen = len(self.commits)
            yield
