"""A store in memory with one session, whose commits fail when a test wants it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.storage.changes import Changes
from core.storage.session_store import Lease
from core.storage.snapshot import Snapshot
from tests.store.in_memory.memory_chapters import MemoryChapters
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryLease, MemoryStore, Rows

_SETTLED = (RequestState.DONE, RequestState.FAILED)
AWAY = StorageError(ErrorCode.STORAGE_SAVE_FAILED)


class FaultyStore(MemoryStore):
    """A `SessionStore` for the session of `snapshot`; faults are put into `failures`.

    The snapshot may be of a longer story than it holds: it stays the source of what is read at opening.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._one = Rows(snapshot.session, snapshot.tab1)
        super().__init__(MemoryDatabase({snapshot.session.id: self._one}))
        self._one.events = {event.id: event for event in snapshot.recent}
        self._one.takes = {event.prompt_index: event.take for event in snapshot.recent}
        self._one.blocks = {block.id: block for block in snapshot.blocks}
        self._one.canon_blocks = {block.place: block.id for block in snapshot.blocks}
        self._one.requests = {request.id: request for request in snapshot.requests}
        self.chapters = _Chapters(self)
        self.failures: list[Exception] = []
        """The next commits fail with these."""
        self.refuse_settling = 0
        """How many of the next commits that settle a request are refused for good."""
        self.failures_of_following: list[Exception] = []
        self.is_late = False
        """What fails is stored all the same: only the answer is lost."""
        self.commits: list[Changes] = []
        self.created: list[Changes] = []
        """New sessions, as they were stored."""

    @property
    def writer(self) -> MemoryLease | None:
        return self._one.writer

    @property
    def epoch(self) -> int:
        return self._one.epoch

    def seize(self, label: str) -> MemoryLease:
        """Take the writer's lock, whatever it takes: who has it is fenced out."""
        return self.take(self.snapshot.session.id, label)

    async def commit(self, changes: Changes, lease: Lease) -> None:
        error = self.failures.pop(0) if self.failures else None
        if self.refuse_settling and any(request.state in _SETTLED for request in changes.requests):
            self.refuse_settling -= 1
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
        if error is None or self.is_late:
            await super().commit(changes, lease)
        if error is not None:
            raise error

    def apply(self, changes: Changes) -> None:
        self.commits.append(changes)
        self.snapshot = self.snapshot.after(changes)
        super().apply(changes)

    async def load(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        return replace(self.snapshot, blocks=(), is_memory_known=False)

    async def newest_canon(
        self, session_id: SessionId, max_chars: int, *, known_to: Slot | None = None
    ) -> Sequence[Event]:
        canon = await self.canon(session_id)
        return [event for event in canon if known_to is None or known_to in event.audience]

    def follow(self, session_id: SessionId) -> AbstractAsyncContextManager[AsyncIterator[bool]]:
        if self.failures_of_following:
            raise self.failures_of_following.pop(0)
        return super().follow(session_id)

    def forge(self, text: str) -> None:
        """Change the first word that was played, behind the program's back."""
        first = next(iter(self._one.events))
        self._one.events[first] = replace(self._one.events[first], text=text)

    def copy(self) -> "FaultyStore":
        """Return a store with the same story and no save slots."""
        other = FaultyStore(self.snapshot)
        other._one.events, other._one.blocks = self._one.events, self._one.blocks
        other._one.takes, other._one.canon_blocks = self._one.takes, self._one.canon_blocks
        other._one.drafts = self._one.drafts
        return other


class _Chapters(MemoryChapters):
    """A list on which a new chapter is noted and not put."""

    def __init__(self, store: FaultyStore) -> None:
        super().__init__(store.database)
        self._store = store

    async def create(self, changes: Changes) -> None:
        self._store.created.append(changes)

    async def archive(self, session_id: SessionId, at: datetime | None) -> None:
        await super().archive(session_id, at)
        session = self.database.sessions[session_id].session
        self._store.snapshot = replace(self._store.snapshot, session=session)
