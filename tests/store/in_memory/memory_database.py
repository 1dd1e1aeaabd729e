"""What the windows of a store in memory share, as windows share a server."""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from types import coroutine

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.session.session import Session, Tab1Inputs
from core.storage.changes import Changes
from tests.store.in_memory.memory_library import MemoryLibrary
from tests.store.in_memory.memory_queue import SharedQueue
from tests.store.in_memory.memory_rows import Rows

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@coroutine
def give_way() -> Generator[None, None, None]:
    """Let other tasks run once, as a call to a server does; a test may count what sleeps."""
    yield


@dataclass
class MemoryDatabase:
    """A database that several stores share, as windows share a server."""

    sessions: dict[SessionId, Rows] = field(default_factory=dict)
    followers: list[tuple[SessionId, asyncio.Event, set[SessionId]]] = field(default_factory=list)
    queue: SharedQueue = field(default_factory=SharedQueue)
    open_costs: dict[int, tuple[Decimal, Decimal, date]] = field(default_factory=dict)
    """What each window tells the others, by the identity of its calls: ended, running, and the day."""
    library: MemoryLibrary = field(init=False)

    def __post_init__(self) -> None:
        self.library = MemoryLibrary(self.create)

    def create(self, changes: Changes) -> None:
        """Store a new session."""
        if changes.session is None or changes.tab1 is None:
            raise ValueError("a new session needs its row and its tab 1")
        runs = self.runs(changes.session.script_key)
        rows = Rows(changes.session, changes.tab1, script_run=runs[-1].script_run + 1 if runs else 1)
        rows.change(changes)
        self.sessions[changes.session.id] = rows

    def notify(self, session_id: SessionId, *, of_bank: bool = False) -> None:
        """Tell everyone who follows the session."""
        for followed, news, banks in self.followers:
            if followed == session_id:
                banks |= {session_id} if of_bank else set()
                news.set()

    def runs(self, script_key: str) -> list[Rows]:
        """Return the sessions of a script, newest last."""
        runs = (
            rows for rows in self.sessions.values() if script_key and rows.session.script_key == script_key
        )
        return sorted(runs, key=lambda rows: rows.script_run)

    async def rows(self, session_id: SessionId) -> Rows:
        """Return what is stored of a session.

        Raises:
            StorageError: There is no such session.
        """
        await give_way()
        if session_id not in self.sessions:
            sentence = (
                "This chapter is not in the database any more: it was purged, or a restored backup lacks it."
            )
            raise StorageError(
                ErrorCode.STORAGE_LOAD_FAILED,
                sentence,
                "F5 and `storyengine sessions` list those that are there; what still shows can be copied.",
                is_transient=False,
            )
        return self.sessions[session_id]

    async def found(self, session_id: SessionId) -> Rows:
        """Return the rows of a session; of one that is not there, none."""
        await give_way()
        nothing = Rows(Session(id=session_id, created_at=LONG_AGO, updated_at=LONG_AGO), Tab1Inputs())
        return self.sessions.get(session_id, nothing)
