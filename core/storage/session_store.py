"""The storage interface of the engine, as a Protocol that `db` implements (design 3 and 11).

All writes to a session are `Changes` values: each holds everything that follows from one outcome, and the
store applies it in one transaction or not at all (design 6).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from core.domain.errors import SessionLockedError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.reply_uses import LoreUse
from core.storage.bank_store import BankStore
from core.storage.call_store import CallStore
from core.storage.changes import Changes
from core.storage.chapter_store import ChapterStore
from core.storage.library_store import LibraryStore
from core.storage.queue_store import QueueStore
from core.storage.save_point_store import SavePointStore
from core.storage.snapshot import Snapshot

NO_EPOCH: Final = 0
"""No lease has it: the first one of a session has 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterInfo:
    """The writer of a session, and since when it writes."""

    label: str
    since: datetime
    is_window: bool = True
    """False for a start, which stores what was kept and gives the chapter back at once."""


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule of a table, and how many of its rows break it."""

    table: str
    rule: str
    rows: int


def written_elsewhere(holder: WriterInfo | None) -> SessionLockedError:
    """Return the error for an operation on a chapter that only its writer may do."""
    who = f" ({holder.label}, since {holder.since.astimezone():%H:%M on %d %B})" if holder else ""
    return SessionLockedError(
        f"Another window writes in this chapter{who}; nothing was changed.",
        "Close it there, or archive it from there.",
    )


class Lease(Protocol):
    """The writer's lock of a session, held until closed or until its connection is lost."""

    @property
    def session_id(self) -> SessionId:
        """The session that is held."""

    @property
    def epoch(self) -> int:
        """The number of this writer; a commit with an older one is refused."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection that held the lock is lost."""

    async def until_lost(self) -> None:
        """Return once the connection of the lock is lost or the lock released."""

    async def aclose(self) -> None:
        """Release the lock."""


class SessionStore(Protocol):
    """Durable storage of sessions: their story and their writers here, all else in parts.

    Every method raises `StorageError` when the database cannot be reached or refuses.
    """

    @property
    def queue(self) -> QueueStore:
        """The state of the queue that the windows of this database share."""

    @property
    def library(self) -> LibraryStore:
        """Records kept across chapters."""

    @property
    def bank(self) -> BankStore:
        """The memory banks of chapters."""

    @property
    def chapters(self) -> ChapterStore:
        """The list of chapters."""

    @property
    def calls(self) -> CallStore:
        """Requests and their calls, with texts and costs."""

    @property
    def save_points(self) -> SavePointStore:
        """Points to which chapters can be restored."""

    async def commit(self, changes: Changes, lease: Lease) -> None:
        """Store `changes` in one transaction, and notify followers of the session.

        Raises SessionLockedError when `lease` is not, or no longer, the writer's.
        """

    async def keep(self, changes: Changes, epoch: int, since: datetime, *after: Changes) -> None:
        """Keep a commit with calls in it that the database has not taken, until it is stored.

        `acquire` stores it, behind those that were kept before it and that it comes `after`: whole where its
        epoch is the next and the session was last changed at `since`, else the calls alone. A store without
        a place for it does nothing.
        """

    async def acquire(self, session_id: SessionId, label: str) -> Lease | WriterInfo:
        """Acquire the writer's lock, or return its holder, without waiting.

        Raises StorageError, also where what is kept of the session cannot be stored yet.
        """

    async def writer_of(self, session_id: SessionId) -> WriterInfo | None:
        """Return the holder of the writer's lock, or None, without acquiring it."""

    async def load(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        """Return the session without its memory; the cost does not grow with the story.

        `recent_prompts` says how many prompts stay in recent context, where that is more than a chunk.
        Raises StorageError (not transient) when it does not exist.
        """

    async def memory(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        """Return memory for model inputs, in order: the lock and the newest deltas are complete.

        Older deltas, for which no budget has room, are reduced to their canon.
        """

    async def blocks(
        self, session_id: SessionId, *, after: int = -1, ordinal: int = 0
    ) -> Sequence[MemoryBlock]:
        """Return the complete blocks of canon that end after prompt `after`, in order; -1 means all.

        Includes those that end at `after` itself and have a greater `ordinal`.
        """

    async def revisions(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        """Return the complete blocks that are not canon, by their places and revisions."""

    async def log(self, session_id: SessionId, *, first: int = 0, last: int | None = None) -> Sequence[Event]:
        """Return every take of prompts `first` to `last`, in order; 0 are the lines before the first."""

    async def takes(self, session_id: SessionId) -> Sequence[int]:
        """Return the take that is canon at each prompt from 1 on, and then those that redo brings back."""

    async def canon(
        self, session_id: SessionId, *, first: int = 0, last: int | None = None
    ) -> Sequence[Event]:
        """Return the events of prompts `first` to `last` that are the story, in order.

        Prompts beyond `Session.prompt_index` are not part of it.
        """

    async def story_mark(self, session_id: SessionId) -> str:
        """Return a mark of the story: it is another once canon, memory or drafts of the chapter differ."""

    async def newest_canon(
        self, session_id: SessionId, max_chars: int, *, known_to: Slot | None = None
    ) -> Sequence[Event]:
        """Return the newest events of canon, in order, with just over `max_chars` characters, or all.

        With `known_to` only those that this character has witnessed.
        """

    async def last_replies(self, session_id: SessionId) -> Mapping[Slot, tuple[int, datetime]]:
        """Return the number and the time of the newest reply of each character that is canon."""

    async def lore_uses(self, session_id: SessionId) -> Sequence[LoreUse]:
        """Return what the replies that are canon say of active entries of lorebooks, in order."""

    async def drafts(self, session_id: SessionId) -> Sequence[NarrativeDraft]:
        """Return every draft, oldest version first."""

    async def broken_rules(self, session_id: SessionId | None = None) -> Sequence[BrokenRule]:
        """Return the rules of the tables that rows of this session break; None means what is of no session.

        The database keeps them, unless it was changed past its rules or its files are damaged.
        """

    def follow(self, session_id: SessionId) -> AbstractAsyncContextManager[AsyncIterator[bool]]:
        """Yield after commits to this session by any window; concurrent ones are coalesced.

        What is yielded says whether items of its memory bank may have changed.
        After a lost connection it reconnects and yields, so that no commit is missed.
        """

    async def aclose(self) -> None:
        """Close every connection."""
