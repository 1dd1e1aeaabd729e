"""`SessionStore` on PostgreSQL (design 4, 6 and 11)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from sqlalchemy import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from core.domain.errors import SessionLockedError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.reply_uses import LoreUse
from core.storage.changes import Changes
from core.storage.session_store import BrokenRule, Lease, WriterInfo
from core.storage.snapshot import Snapshot
from db.bank.bank_store import PostgresBank
from db.connections import open_engine, parse_url, refuse_transaction_pooler
from db.errors import LOAD, SAVE, guarded
from db.library.library_store import PostgresLibrary
from db.parts.calls import PostgresCalls
from db.parts.chapters import PostgresChapters
from db.parts.queue import PostgresQueue
from db.parts.save_points import PostgresSavePoints
from db.pool import Pool
from db.reads import queries as reads
from db.reads.chapter_lists import last_replies_of, lore_replies_of, story_mark_of
from db.reads.streamed import LARGE_ROWS, SMALL_ROWS
from db.rows import mapping
from db.schema.broken_rules import queries_of_rules
from db.schema.migrate import upgrade
from db.tables import NARRATIVE_DRAFT
from db.transactions import Transactions
from db.writes import commit_statement as writes
from db.writes.change_listener import follow_session
from db.writes.commit_connection import CommitConnection
from db.writes.unstored import UnstoredCommits
from db.writes.writer_lock import WriterLease, WriterLocks, holder_now


async def open_store(url: str, unstored: Path | None = None) -> "PostgresStore":
    """Return the store behind `url`, its schema brought up to date; raise StorageError with a sentence.

    In the folder `unstored` it keeps what was paid for while the database does not take it.
    """
    parsed = parse_url(url)
    await refuse_transaction_pooler(parsed)
    engine = open_engine(parsed)
    try:
        await upgrade(engine)
    except BaseException:  # cancelled too: the pool has no other owner yet
        await engine.dispose()
        raise
    return PostgresStore(parsed, engine, unstored)


class PostgresStore:
    """Sessions in PostgreSQL. Safe to use from many tasks of one event loop."""

    def __init__(self, url: URL, engine: AsyncEngine, unstored: Path | None) -> None:
        self._url: Final = url
        self._database: Final = Transactions(Pool(engine))
        self._commit_connection: Final = CommitConnection(url)
        self._unstored: Final = UnstoredCommits(unstored, self._commit_connection.send)
        self.queue: Final = PostgresQueue(self._database, self._epochs)
        self._locks: Final = WriterLocks(url, self.queue)
        self.library: Final = PostgresLibrary(self._database)
        self.bank: Final = PostgresBank(self._database, url)
        self.chapters: Final = PostgresChapters(url, self._database, self._commit_connection, self._unstored)
        self.calls: Final = PostgresCalls(self._database, self._commit_connection)
        self.save_points: Final = PostgresSavePoints(self._database)

    async def commit(self, changes: Changes, lease: Lease) -> None:
        """Make `changes` true in one transaction; see `SessionStore.commit`."""
        if lease.session_id != changes.session_id:
            raise ValueError("the lease is another session's")
        if isinstance(lease, WriterLease) and lease.is_closed:
            raise SessionLockedError("This window has given the chapter back; nothing was stored from here.")
        async with guarded(SAVE):
            await self._commit_connection.send(writes.commit(changes, lease.epoch))
        await self._unstored.settle(changes)

    async def keep(self, changes: Changes, epoch: int, since: datetime, *after: Changes) -> None:
        """Keep a commit that was not stored; see `SessionStore.keep`."""
        await self._unstored.keep(changes, epoch, since, *after)

    async def acquire(
        self, session_id: SessionId, label: str, *, is_window: bool = True
    ) -> Lease | WriterInfo:
        """Acquire the writer's lock, or return its holder; see `SessionStore.acquire`."""
        async with guarded(LOAD):
            lease = await self._locks.acquire(session_id, label, is_window=is_window)
        if isinstance(lease, WriterLease):
            await self._unstored.store(lease)
        return lease

    async def writer_of(self, session_id: SessionId) -> WriterInfo | None:
        """Return the holder of the writer's lock; see `SessionStore.writer_of`."""
        return await self._database.read(lambda connection: holder_now(connection, session_id))

    async def load(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        """Return a consistent snapshot of the session; see `SessionStore.load`."""
        read = partial(reads.read_snapshot, recent_prompts=recent_prompts)
        return await self._database.of_chapter(session_id, read)

    async def memory(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        """Return the memory for model inputs; see `SessionStore.memory`."""
        return await self._database.of_chapter(session_id, reads.read_memory)

    async def blocks(
        self, session_id: SessionId, *, after: int = -1, ordinal: int = 0
    ) -> Sequence[MemoryBlock]:
        """Return complete blocks, in order; see `SessionStore.blocks`."""
        query = reads.blocks_after(session_id, after, ordinal)
        return await self._database.mapped(session_id, query, mapping.to_block, LARGE_ROWS)

    async def revisions(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        """Return the complete blocks that are not canon, in order."""
        return await self._database.mapped(session_id, reads.revisions_of(session_id), mapping.to_block)

    async def log(self, session_id: SessionId, *, first: int = 0, last: int | None = None) -> Sequence[Event]:
        """Return every take of prompts `first` to `last`, in order."""
        query = reads.log_between(session_id, first, last)
        return await self._database.mapped(session_id, query, mapping.EVENTS.record)

    async def takes(self, session_id: SessionId) -> Sequence[int]:
        """Return the take that is canon at each prompt; see `SessionStore.takes`."""
        return [row.take for row in await self._database.rows(reads.takes_of(session_id))]

    async def canon(
        self, session_id: SessionId, *, first: int = 0, last: int | None = None
    ) -> Sequence[Event]:
        """Return the events that are the story; see `SessionStore.canon`."""
        query = reads.canon_between(session_id, first, last)
        at_once = SMALL_ROWS if last is None else 0
        return await self._database.mapped(session_id, query, mapping.EVENTS.record, at_once)

    async def story_mark(self, session_id: SessionId) -> str:
        """Return a mark of the story; see `SessionStore.story_mark`."""
        return "".join(row[0] for row in await self._database.rows(story_mark_of(session_id)))

    async def newest_canon(
        self, session_id: SessionId, max_chars: int, *, known_to: Slot | None = None
    ) -> Sequence[Event]:
        """Return the newest events of canon; see `SessionStore.newest_canon`."""
        newest = partial(reads.read_newest_events, max_chars=max_chars, known_to=known_to)
        return await self._database.of_chapter(session_id, newest)

    async def last_replies(self, session_id: SessionId) -> Mapping[Slot, tuple[int, datetime]]:
        """Return the newest reply of each character; see `SessionStore.last_replies`."""
        rows = await self._database.rows(last_replies_of(session_id))
        return {Slot(row.slot): (row.prompt_index, row.at) for row in rows}

    async def lore_uses(self, session_id: SessionId) -> Sequence[LoreUse]:
        """Return the active entries of lorebooks; see `SessionStore.lore_uses`."""
        replies = await self._database.mapped(session_id, lore_replies_of(session_id), mapping.to_lore_uses)
        return tuple(chain.from_iterable(replies))

    async def drafts(self, session_id: SessionId) -> Sequence[NarrativeDraft]:
        """Return every draft, oldest version first."""
        query = reads.rows_of(NARRATIVE_DRAFT, session_id).order_by(NARRATIVE_DRAFT.c.version)
        return await self._database.mapped(session_id, query, mapping.to_draft)

    async def broken_rules(self, session_id: SessionId | None = None) -> Sequence[BrokenRule]:
        """Return the rules that rows break, table by table; see `SessionStore`."""
        queries = queries_of_rules(of_session=session_id is not None)
        values = {} if session_id is None else {"session_id": session_id}
        counted = [
            (table, rules, await self._database.rows(query, values)) for table, rules, query in queries
        ]
        return [
            BrokenRule(table, rule, count)
            for table, rules, [row] in counted
            for rule, count in zip(rules, row, strict=True)
            if count
        ]

    def follow(self, session_id: SessionId) -> AbstractAsyncContextManager[AsyncIterator[bool]]:
        """Yield for every commit to this session; see `SessionStore.follow`."""
        return follow_session(self._url, session_id, self.queue)

    async def aclose(self) -> None:
        """Release every lock and close every connection."""
        for lease in tuple(self._locks.held):
            await lease.aclose()
        await self._commit_connection.aclose()
        await self.bank.aclose()
        await self._database.pool.aclose()

    def _epochs(self) -> Mapping[SessionId, int]:
        return {lease.session_id: lease.epoch for lease in self._locks.held}
