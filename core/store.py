"""What the engine needs of storage, as a Protocol; `db` provides it (design 3 and 11).

Writing has one way in: a `Changes` value holds everything that follows from one outcome, and the
store makes it true in one transaction or not at all (design 6).
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol

from core.context.visibility import Knowledge, known_to
from core.domain.cast import Cast
from core.domain.draft import NarrativeDraft
from core.domain.errors import SessionLockedError
from core.domain.event import Event
from core.domain.ids import RequestId, SessionId
from core.domain.memory import MemoryBlock, compact_old_deltas
from core.domain.request import AnyRequest, Artifact, Content, ReplyRequest, Request, RequestState
from core.domain.save_point import SavePoint
from core.domain.session import Session, SessionSummary, Tab1Inputs
from core.domain.slot import Slot

MAX_FULL_DELTAS: Final = 256
"""How many of the newest deltas a session holds whole; no input holds as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Everything that one transaction makes true. What is None or empty stays as it is.

    `session` and `tab1` are whole new values. Requests are inserted or, by id, replaced. Events,
    blocks, drafts and artifacts are only ever added. `unsent` replaces the text waiting in the
    composer of each slot it names; an empty text clears it.
    """

    session_id: SessionId
    session: Session | None = None
    tab1: Tab1Inputs | None = None
    unsent: Mapping[Slot, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    blocks: tuple[MemoryBlock, ...] = ()
    drafts: tuple[NarrativeDraft, ...] = ()
    requests: tuple[Request, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    contents: tuple[Content, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One session as its writer holds it in memory: all that is needed to go on playing.

    `recent` are the events after `recent_from(session)`; `requests` are those not done and not
    cancelled, oldest first: open ones, and failed ones that may be retried. `blocks` is what
    `SessionStore.memory` gives, once `is_memory_known`: a session opens without it, however long its story.
    """

    session: Session
    tab1: Tab1Inputs
    unsent: Mapping[Slot, str] = field(default_factory=dict)
    blocks: tuple[MemoryBlock, ...] = ()
    recent: tuple[Event, ...] = ()
    requests: tuple[Request, ...] = ()
    draft_count: int = 0
    corrections: int = 0
    """How many corrections of canon stand behind the newest lock or delta."""
    is_memory_known: bool = True

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """What waits for a model or is with one, oldest first."""
        return tuple(request for request in self.requests if request.state.is_open)

    @property
    def open_prompts(self) -> tuple[ReplyRequest, ...]:
        """The prompts that wait for a model or are with one, oldest first."""
        return tuple(request for request in self.open_requests if isinstance(request, ReplyRequest))

    def failed(self, kind: type[AnyRequest]) -> tuple[AnyRequest, ...]:
        """Return the requests of a kind that failed and were not given up, oldest first."""
        return tuple(one for one in self.requests if isinstance(one, kind) and one.has_failed)

    @property
    def cast(self) -> Cast:
        """The characters, as the GM described them."""
        return Cast(self.session, self.tab1)

    def known_to(self, slot: Slot) -> Knowledge:
        """Return what the character in `slot` may know; the memory of the snapshot is known."""
        return known_to(self.cast[slot], self.session, self.blocks, self.recent)

    def after(self, changes: Changes) -> "Snapshot":
        """Return the snapshot as it is once `changes` are stored."""
        session = changes.session or self.session
        start = recent_from(session)
        recent = (*self.recent, *changes.events)
        if recent and recent[0].prompt_index <= start:
            recent = tuple(event for event in recent if event.prompt_index > start)
        return replace(
            self,
            session=session,
            tab1=changes.tab1 or self.tab1,
            unsent={slot: text for slot, text in {**self.unsent, **changes.unsent}.items() if text},
            blocks=self._memory_with(changes.blocks, session),
            recent=recent,
            requests=_merge(self.requests, changes.requests),
            draft_count=self.draft_count + len(changes.drafts),
            corrections=changes.blocks[-1].ordinal if changes.blocks else self.corrections,
        )

    def _memory_with(self, new: tuple[MemoryBlock, ...], session: Session) -> tuple[MemoryBlock, ...]:
        if not self.is_memory_known:
            return ()
        return compact_old_deltas((*self.blocks, *new), full_deltas_from(session)) if new else self.blocks


def recent_from(session: Session) -> int:
    """Return the prompt index after which events are recent context.

    It moves only when a block is stored, so that the inputs between two blocks share their prefix,
    and it never leaves out an unsummarised prompt or one of the last chunk (design 6 and 7).
    """
    return max(0, session.boundary - session.limits.chunk_size)


def full_deltas_from(session: Session) -> int:
    """Return the prompt index after which deltas are held whole; of older ones only their canon is."""
    return session.boundary - MAX_FULL_DELTAS * session.limits.chunk_size


def is_kept_in_snapshot(request: Request) -> bool:
    """Whether a request still matters for going on: open, or failed and not given up."""
    return request.state.is_open or request.state is RequestState.FAILED


def _merge(old: tuple[Request, ...], new: Collection[Request]) -> tuple[Request, ...]:
    if not new:
        return old
    by_id = {request.id: request for request in (*old, *new)}
    kept = (request for request in by_id.values() if is_kept_in_snapshot(request))
    return tuple(sorted(kept, key=lambda request: request.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterInfo:
    """Who writes in a session, and since when."""

    label: str
    since: datetime


def written_elsewhere(holder: WriterInfo | None) -> SessionLockedError:
    """Return the refusal of what only the writer of a chapter may do to the whole of it."""
    who = f" ({holder.label}, since {holder.since.astimezone():%H:%M on %d %B})" if holder else ""
    return SessionLockedError(
        f"Another window writes in this chapter{who}; nothing was changed.",
        "Close it there, or archive it from there.",
    )


class Lease(Protocol):
    """The writer's lock of one session, held until closed or until the connection is lost."""

    @property
    def session_id(self) -> SessionId:
        """The session that is held."""

    @property
    def epoch(self) -> int:
        """Grows with every new writer; a commit with an older epoch is refused."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection that held the lock is gone."""

    async def until_lost(self) -> None:
        """Return once the connection that held the lock is gone, or the lock was given back."""

    async def aclose(self) -> None:
        """Give the lock back."""


class SessionStore(Protocol):
    """Durable storage of sessions.

    Every method raises `StorageError` when the database cannot be reached or refuses.
    """

    async def create(self, changes: Changes) -> None:
        """Store a new session; `changes.session` and `changes.tab1` are required."""

    async def find_or_create(self, changes: Changes) -> tuple[SessionId, bool]:
        """Return the newest session, not archived, of the same script as `changes.session`, else store that.

        The second value is whether it was stored. However many ask at once, one session is made.
        """

    async def commit(self, changes: Changes, lease: Lease) -> None:
        """Make `changes` true in one transaction, and tell followers of the session.

        Raise SessionLockedError when `lease` is not, or no longer, the writer's.
        """

    async def acquire(self, session_id: SessionId, label: str) -> Lease | WriterInfo:
        """Take the writer's lock, or return who has it. Does not wait."""

    async def writer_of(self, session_id: SessionId) -> WriterInfo | None:
        """Return the holder of the writer's lock, or None; acquires nothing and writes nothing."""

    async def load(self, session_id: SessionId) -> Snapshot:
        """Return the session as it is, its memory not known yet; the cost does not grow with the story.

        Raise StorageError (not transient) when there is none.
        """

    async def memory(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        """Return the memory that inputs are made of, in order: the lock and the newest deltas whole.

        Of the deltas before those, which no budget holds in full, only the canon locks are read.
        """

    async def blocks(
        self, session_id: SessionId, *, after: int = -1, corrections: int = 0
    ) -> Sequence[MemoryBlock]:
        """Return every block that ends beyond prompt `after`, whole and in order; -1 means all of them.

        Of the corrections that stand at `after` itself, those beyond number `corrections` come too.
        """

    async def sessions(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        """Return the chapter list, last played first."""

    async def find_script(self, script_key: str) -> SessionId | None:
        """Return the newest session, not archived, that a chapter script with this key made."""

    async def archive(self, session_id: SessionId, at: datetime | None) -> None:
        """Archive a session at that time, or restore it (None)."""

    async def purge(self, session_id: SessionId) -> None:
        """Delete an archived session and all below it, for good; refuse one that is not archived."""

    async def log(self, session_id: SessionId, *, first: int = 1, last: int | None = None) -> Sequence[Event]:
        """Return every event that was stored of prompts `first` to `last`, in order: the log, complete."""

    async def canon(
        self, session_id: SessionId, *, first: int = 1, last: int | None = None
    ) -> Sequence[Event]:
        """Return the events of prompts `first` to `last` that are the story, in order: what models and
        readers are given. Today the whole log is canon."""

    async def newest_canon(self, session_id: SessionId, max_chars: int) -> Sequence[Event]:
        """Return the newest events of canon, in order, with just over `max_chars` characters, or all."""

    async def drafts(self, session_id: SessionId) -> Sequence[NarrativeDraft]:
        """Return every draft, oldest version first."""

    async def requests(self, session_id: SessionId) -> Sequence[Request]:
        """Return every request, oldest first, whatever its state."""

    async def artifacts(
        self,
        session_id: SessionId,
        *,
        request_id: RequestId | None = None,
        agent_id: int | None = None,
        newest: int | None = None,
    ) -> Sequence[Artifact]:
        """Return the artifacts of a session, of one request or of one agent, oldest first.

        `newest` is how many at most, those that came last.
        """

    async def contents(self, session_id: SessionId, hashes: Collection[str]) -> Mapping[str, str]:
        """Return the texts behind these hashes."""

    async def save_slots(self, session_id: SessionId) -> Sequence[SavePoint]:
        """Return the save slots of a session, by their numbers."""

    async def put_save_slot(self, slot: SavePoint) -> None:
        """Store a save slot; what had its number before is gone. Needs no writer's lock."""

    async def drop_save_slot(self, session_id: SessionId, number: int) -> None:
        """Delete a save slot; one that is not there is no error."""

    def follow(self, session_id: SessionId) -> AbstractAsyncContextManager[AsyncIterator[None]]:
        """Yield once for every commit by anyone to this session, several at once coalesced.

        Survives a lost connection: it connects again and yields once, so that nothing is missed.
        """

    async def aclose(self) -> None:
        """Close every connection."""
