"""A store in memory that keeps what `SessionStore` promises, for tests of something else.

The tests of `tests/store/contract` run on it and on PostgreSQL. What only a database holds (constraints,
triggers, what another program does) is not in it.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial

from core.domain.errors import ErrorCode, SessionLockedError, StorageError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock, compact_old_deltas
from core.domain.story.reply_uses import LoreUse, uses_in
from core.storage.changes import Changes
from core.storage.session_store import BrokenRule, Lease, WriterInfo
from core.storage.snapshot import Snapshot, full_deltas_from
from tests.store.in_memory.memory_bank import MemoryBank
from tests.store.in_memory.memory_calls import MemoryCalls
from tests.store.in_memory.memory_chapters import MemoryChapters
from tests.store.in_memory.memory_database import MemoryDatabase, give_way
from tests.store.in_memory.memory_queue import MemoryQueue
from tests.store.in_memory.memory_rows import MemoryLease as MemoryLease
from tests.store.in_memory.memory_rows import Rows as Rows
from tests.store.in_memory.memory_save_points import MemorySavePoints


class MemoryStore:
    """One window's store. Every method gives way once, as a call to a server does."""

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        self.database = MemoryDatabase() if database is None else database
        self.library = self.database.library
        self.bank = MemoryBank(
            self.database.sessions, self.library, partial(self.database.notify, of_bank=True)
        )
        self.chapters = MemoryChapters(self.database)
        self.calls = MemoryCalls(self.database)
        self.save_points = MemorySavePoints(self.database)
        self.is_closed = False
        self._leases: list[MemoryLease] = []
        self.queue = MemoryQueue(self.database.queue, self.database.sessions)

    async def keep(self, changes: Changes, epoch: int, since: datetime, *after: Changes) -> None:
        """Keep nothing: what is in memory is gone with the program."""

    async def commit(self, changes: Changes, lease: Lease) -> None:
        if lease.session_id != changes.session_id:
            raise ValueError("the lease is another session's")
        rows = await self.database.rows(changes.session_id)
        if lease.epoch != rows.epoch or (isinstance(lease, MemoryLease) and lease.is_closed):
            raise SessionLockedError()
        self.apply(changes)

    def apply(self, changes: Changes) -> None:
        """Make changes true, whoever decided them, and tell followers."""
        try:
            self.database.sessions[changes.session_id].change(changes)
        except (ValueError, TypeError) as error:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False) from error
        self.library.add_proposals(changes.proposals)
        self.database.notify(changes.session_id, of_bank=bool(changes.items))

    async def acquire(self, session_id: SessionId, label: str) -> Lease | WriterInfo:
        rows = await self.database.rows(session_id)
        if rows.holder is not None:
            return rows.holder
        self.queue.tell_pause()
        return self.take(session_id, label)

    def take(self, session_id: SessionId, label: str) -> MemoryLease:
        """Take the writer's lock, whatever it takes: who has it is fenced out."""
        lease = MemoryLease(self.database.sessions[session_id], label)
        self._leases.append(lease)
        return lease

    async def writer_of(self, session_id: SessionId) -> WriterInfo | None:
        return (await self.database.rows(session_id)).holder

    async def load(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        return (await self.database.rows(session_id)).snapshot(recent_prompts)

    async def memory(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        rows = await self.database.rows(session_id)
        return compact_old_deltas(tuple(rows.memory), full_deltas_from(rows.session))

    async def blocks(
        self, session_id: SessionId, *, after: int = -1, ordinal: int = 0
    ) -> Sequence[MemoryBlock]:
        memory = (await self.database.found(session_id)).memory
        return [block for block in memory if (block.last, block.ordinal) > (after, ordinal)]

    async def revisions(self, session_id: SessionId) -> Sequence[MemoryBlock]:
        rows = await self.database.found(session_id)
        past = rows.blocks.keys() - set(rows.canon_blocks.values())
        return sorted((rows.blocks[id] for id in past), key=lambda block: (block.place, block.revision))

    async def log(self, session_id: SessionId, *, first: int = 0, last: int | None = None) -> Sequence[Event]:
        end = float("inf") if last is None else last
        log = (await self.database.found(session_id)).log
        return [event for event in log if first <= event.prompt_index <= end]

    async def takes(self, session_id: SessionId) -> Sequence[int]:
        takes = (await self.database.found(session_id)).takes
        return [takes[index] for index in sorted(takes) if index]

    async def canon(
        self, session_id: SessionId, *, first: int = 0, last: int | None = None
    ) -> Sequence[Event]:
        rows = await self.database.found(session_id)
        end = rows.session.prompt_index if last is None else min(last, rows.session.prompt_index)
        return [event for event in rows.canon if first <= event.prompt_index <= end]

    async def newest_canon(
        self, session_id: SessionId, max_chars: int, *, known_to: Slot | None = None
    ) -> Sequence[Event]:
        newest: list[Event] = []
        for event in reversed(await self.canon(session_id)):
            if known_to is not None and known_to not in event.audience:
                continue
            if sum(len(newer.text) for newer in newest) > max_chars:
                break
            newest.append(event)
        return newest[::-1]

    async def last_replies(self, session_id: SessionId) -> Mapping[Slot, tuple[int, datetime]]:
        canon = await self.canon(session_id)
        return {event.slot: (event.prompt_index, event.created_at) for event in canon if event.slot}

    async def lore_uses(self, session_id: SessionId) -> Sequence[LoreUse]:
        return tuple(uses_in(await self.canon(session_id)))

    async def story_mark(self, session_id: SessionId) -> str:
        # Its own: a test may count how often the texts are read.
        ids: list[object] = [one.id for one in await MemoryStore.canon(self, session_id)]
        ids += [one.id for one in await MemoryStore.blocks(self, session_id)]
        ids += [one.id for one in await MemoryStore.drafts(self, session_id)]
        return " ".join(map(str, ids))

    async def drafts(self, session_id: SessionId) -> Sequence[NarrativeDraft]:
        drafts = (await self.database.found(session_id)).drafts.values()
        return sorted(drafts, key=lambda draft: draft.version)

    async def broken_rules(self, session_id: SessionId | None = None) -> Sequence[BrokenRule]:
        await give_way()
        return ()  # Only a database has rules of tables.

    def follow(self, session_id: SessionId) -> AbstractAsyncContextManager[AsyncIterator[bool]]:
        return self._following(session_id)

    @asynccontextmanager
    async def _following(self, session_id: SessionId) -> AsyncIterator[AsyncIterator[bool]]:
        follower = (session_id, asyncio.Event(), set[SessionId]())
        self.database.followers.append(follower)
        self.queue.tell_pause()
        try:
            yield _each(*follower[1:])
        finally:
            self.database.followers.remove(follower)

    async def aclose(self) -> None:
        self.is_closed = True
        self.database.open_costs.pop(id(self.calls), None)
        for lease in self._leases:
            await lease.aclose()


async def _each(news: asyncio.Event, banks: set[SessionId]) -> AsyncIterator[bool]:
    while True:
        await news.wait()
        news.clear()
        of_bank = bool(banks)
        banks.clear()
        yield of_bank
