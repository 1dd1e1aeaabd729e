"""Stores and publishes the changes of an open session; there is no other path.

A change is decided on the snapshot, stored, and only then applied: listeners are told of stored changes only.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from core.domain.clock import Clock
from core.domain.errors import ErrorCode, SessionLockedError, StorageError
from core.domain.ids import RequestId
from core.domain.requests.request import Artifact, Request
from core.engine.decisions.recovery import withdraw_doubtful_prompts
from core.engine.sync.change_feed import SnapshotDelta, notifications_for, read_changes
from core.engine.sync.completion_waiters import CompletionWaiters
from core.engine.sync.exclusive_access import ExclusiveAccess
from core.engine.sync.lore_reading import with_lore
from core.engine.sync.notifications import BankChanged, StorageRecovered, StorageTrouble, WriterChanged
from core.engine.sync.paid_change import Change, PaidChange, epoch_of
from core.engine.sync.paid_change import Decide as Decide
from core.engine.sync.subscriptions import Listeners
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore, WriterInfo
from core.storage.snapshot import Snapshot

log = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_BACKOFF_SECONDS = 0.2
MAX_BACKOFF_SECONDS = 5.0
CONTENTS_REMEMBERED = 512


class AppliesChanges(Protocol):
    """Stores the changes of one session: the writer of one that is open here, or a closed one."""

    async def apply(self, decide: Decide, *, needs_memory: bool = False) -> Changes:
        """Decide a change on the session, with its memory if it needs that, and store it.

        Raises SessionLockedError when another window writes.
        """


def _no_hook(*_: object) -> None:
    """Ignore the event."""


@dataclass(kw_only=True)
class SessionWriter:
    """Owns the snapshot of one session and its writer's lease.

    `label` identifies this window to others and is unique. `on_adopted` is called after every change of the
    snapshot, `on_locked_out` when another window has become the writer, `on_calls_stored` after a commit with
    calls in it.
    """

    store: SessionStore
    listeners: Listeners
    label: str
    snapshot: Snapshot
    clock: Clock
    lease: Lease | None = None
    holder: WriterInfo | None = None
    on_adopted: Callable[[], None] = _no_hook
    on_locked_out: Callable[[], None] = _no_hook
    on_calls_stored: Callable[[Sequence[Artifact]], None] = _no_hook

    def __post_init__(self) -> None:
        self.waiters = CompletionWaiters()
        self._access = ExclusiveAccess()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._paid: PaidChange | None = None
        """The last change with calls in it; those that wait are stored in the order in which they came."""
        self._stored: dict[object, None] = {}
        """Hashes of stored contents and ids of stored calls, oldest first."""
        self._is_outdated = False
        """The stored session may differ from the snapshot: read it before the next decision."""
        self._has_kept = False
        """Whether a change is kept beside the store under this lock: to acquire it again stores that."""
        self._lost_epoch = False
        """Another window has written since this one acquired the lock."""
        self._unconfirmed_requests: dict[RequestId, Request] = {}
        """Requests that may be stored although the caller was told that they are not."""

    @property
    def is_current(self) -> bool:
        """Whether this window writes and the snapshot is up to date, as far as known without a query."""
        return not (self.lease is None or self.lease.is_lost or self._is_outdated or self._lost_epoch)

    def require_writer(self) -> None:
        """Raise SessionLockedError where another window writes."""
        if self.lease is None:
            raise SessionLockedError()

    async def apply(self, decide: Decide, *, needs_memory: bool = False) -> Changes:
        """Decide a change on the current snapshot, store it and apply it; raise errors of the store.

        Cancelling the caller does not interrupt it.
        """
        if needs_memory:
            await self.know_memory(is_patient=False)
        return await self._in_own_task(self._apply(Change(decide), is_patient=False))

    async def apply_patiently(self, decide: Decide) -> Changes:
        """Apply a change, waiting for an unreachable store.

        Raises SessionLockedError when another window has become the writer meanwhile.
        """
        return await self._in_own_task(self._apply(Change(decide), is_patient=True))

    async def apply_paid(self, decide: Decide) -> Changes:
        """Apply a change with calls in it patiently; what is not stored is kept."""
        before = None if self._paid is None or self._paid.has_ended.is_set() else self._paid
        self._paid = PaidChange(decide, self.store, before)
        return await self._in_own_task(self._apply_paid(self._paid))

    async def become_writer(self, lease: Lease) -> None:
        """Become the writer: read the session, which no other window can change any more.

        Releases the lock when it raises StorageError.
        """
        async with self._access.exclusive():
            try:
                self._tell(await read_changes(self.store, self.snapshot))
            except BaseException:  # cancelled too: no other code would release the lock
                await lease.aclose()
                raise
            self.lease, self.holder = lease, None
            self._stored.clear()
            self._is_outdated = self._lost_epoch = False
            self._unconfirmed_requests.clear()

    async def stop_writing(self) -> None:
        """Release the lock, because this window cannot begin to write."""
        lease, self.lease = self.lease, None
        if lease is not None:
            await lease.aclose()

    async def refresh(self, *, of_bank: bool = False) -> None:
        """Read the changes of another window; do nothing in the window that writes.

        With `of_bank` listeners are told to read the items of the memory bank again.
        """
        async with self._access.exclusive():
            if self.lease is None:
                self._tell(await read_changes(self.store, self.snapshot))
                if of_bank and self.snapshot.session.keeps_bank:
                    self.listeners.publish(BankChanged())

    async def hear_of_writer(self, holder: WriterInfo) -> None:
        """Stop writing when this window has lost the lock and another one holds it."""
        async with self._access.exclusive():
            if self.lease is not None and self.lease.is_lost and holder.label != self.label:
                self._lock_out(holder)

    async def know_memory(self, *, is_patient: bool = True) -> Snapshot:
        """Return the snapshot with memory and lore, which are read on first use, and all recent events."""
        async with self._access.exclusive(is_patient=is_patient):
            if not self.snapshot.is_memory_known:
                blocks = tuple(await self.store.memory(self.snapshot.session.id))
                self.snapshot = replace(self.snapshot, blocks=blocks, is_memory_known=True)
            await self._know_recent()
            self.snapshot = await with_lore(self.store, self.snapshot)
            return self.snapshot

    async def _know_recent(self) -> None:
        """Read recent events where some are missing since memory was withdrawn: lines follow them."""
        if not self.snapshot.is_recent_known:
            recent_prompts = self.snapshot.recent_prompts
            now = await self.store.load(self.snapshot.session.id, recent_prompts=recent_prompts)
            self.snapshot = replace(
                self.snapshot,
                recent=now.recent,
                kept=now.kept,
                undone=now.undone,
                takes=now.takes,
                is_recent_known=True,
            )

    async def finish(self, within: float | None) -> None:
        """Wait until all changes under way are stored, or have failed; at most `within` seconds, if any."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)

    async def aclose(self, error: BaseException) -> None:
        """Release the lock; raise `error` in callers that still wait for a request."""
        for task in tuple(self._tasks):
            task.cancel()
        await self.finish(None)
        self._keep_waiting()  # those whose tasks had not begun
        await self.finish(None)
        self.waiters.fail(error)
        await self.stop_writing()

    async def _in_own_task(self, work: Coroutine[object, object, Changes]) -> Changes:
        return await asyncio.shield(self._begun(work))

    def _begun(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        self._tasks.add(task := asyncio.create_task(work))
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Take note of how a change ended, for which its caller may no longer be waiting."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("a change was not stored: %r", error)

    async def _apply_paid(self, paid: PaidChange) -> Changes:
        if self._access.trouble is not None:
            self._keep_waiting()
        try:
            return await self._apply(paid, is_patient=True)
        except (SessionLockedError, StorageError, asyncio.CancelledError) as error:
            await paid.keep_after(error, self.snapshot, self.lease)
            raise
        finally:
            paid.has_ended.set()

    def _keep_waiting(self) -> None:
        """Keep the paid changes that wait for their turn, beside the one that holds them up."""
        if self._paid is not None:
            self._begun(self._paid.keep_waiting(self.snapshot, self.lease))

    async def _apply(self, change: Change, *, is_patient: bool) -> Changes:
        async with self._access.exclusive(is_patient=is_patient):
            changes: Changes | None = None
            wait = FIRST_BACKOFF_SECONDS
            change.begin()
            while True:
                change.epoch = epoch_of(self.lease)
                try:
                    lease = await self._require_lease()
                    if self._is_outdated:
                        changes = change.decided = None
                        await self._make_current(lease)
                    if changes is None:
                        await self._know_recent()
                        changes = change.decide(self.snapshot)
                    change.decided, change.epoch = changes, lease.epoch
                    await self._store_and_adopt(changes, lease)
                except StorageError as error:
                    if not error.is_transient:
                        self._tell_recovery()  # it answers, if only to refuse
                        raise
                    if not is_patient:
                        self._mark_unconfirmed(changes)
                        raise
                    await self._hold_up(change, error)
                    await asyncio.sleep(wait)
                    wait = min(MAX_BACKOFF_SECONDS, wait * 2)
                except SessionLockedError:
                    if self.lease is None:
                        raise
                    # The store has seen a later writer. If it is gone by now, continue after it.
                    self._lost_epoch = True
                else:
                    self._tell_recovery()
                    return changes

    async def _hold_up(self, change: Change, error: StorageError) -> None:
        """Keep a change, and those behind it, because the store does not answer now; tell of it once."""
        self._has_kept |= change.is_paid
        await change.keep(self.snapshot)
        if self._access.trouble is None:
            self.listeners.publish(StorageTrouble(error))
        self._access.hold_up(error)
        self._keep_waiting()

    def _tell_recovery(self) -> None:
        """Tell that the store answers again, where it was told that it did not."""
        if self._access.trouble is not None:
            self.listeners.publish(StorageRecovered())

    async def _require_lease(self) -> Lease:
        """Return the writer's lock, reacquired if its connection was lost."""
        if self.lease is None:
            raise SessionLockedError()
        if not (self.lease.is_lost or self._lost_epoch):
            return self.lease
        if not self.lease.is_lost:
            await self.lease.aclose()
        acquired = await self.store.acquire(self.snapshot.session.id, self.label)
        if isinstance(acquired, WriterInfo):
            if acquired.label == self.label:
                # The server has not noticed the loss of our own connection yet.
                raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)
            self._lock_out(acquired)
            raise SessionLockedError()
        # Every writer gets the next epoch: a gap means that another window wrote in between.
        self._is_outdated |= self._has_kept or acquired.epoch != self.lease.epoch + 1
        self._lost_epoch = self._has_kept = False
        self.lease = acquired
        return acquired

    def _lock_out(self, holder: WriterInfo) -> None:
        self.lease, self.holder = None, holder
        self._lost_epoch = False
        self.waiters.fail(SessionLockedError())
        self.waiters.reopen()
        self.listeners.publish(WriterChanged(holder))
        self.on_locked_out()

    def _mark_unconfirmed(self, changes: Changes | None) -> None:
        """Remember requests that may be stored although an error is reported."""
        if changes is not None:
            self._is_outdated = True
            self._unconfirmed_requests |= {
                request.id: request for request in changes.requests if request.state.is_open
            }

    async def _make_current(self, lease: Lease) -> None:
        """Read the stored session and withdraw prompts that were stored although the GM was told otherwise.

        The GM may send them again, and they must not be sent twice.
        """
        self._stored.clear()  # a restore may have been what wrote in between
        self._tell(await read_changes(self.store, self.snapshot))
        repaired = withdraw_doubtful_prompts(self.snapshot, self._unconfirmed_requests, self.clock())
        if repaired is not None:
            await self._store_and_adopt(repaired, lease)
        self._unconfirmed_requests.clear()
        self._is_outdated = False

    async def _store_and_adopt(self, changes: Changes, lease: Lease) -> None:
        fresh = replace(
            changes,
            contents=tuple(content for content in changes.contents if content.hash not in self._stored),
            # An outcome may name calls that were stored as soon as they were made: each costs once.
            artifacts=tuple(call for call in changes.artifacts if call.id not in self._stored),
        )
        await self.store.commit(fresh, lease)
        if changes.artifacts:
            self.on_calls_stored(changes.artifacts)
        self._remember(changes)
        before = self.snapshot
        told = tuple(notifications_for(before, changes))
        self._tell(SnapshotDelta(before.after(fresh), told, changes.requests))

    def _remember(self, changes: Changes) -> None:
        """Remember which contents and calls are stored: most of an input is the same in every call."""
        for key in (*(content.hash for content in changes.contents), *(one.id for one in changes.artifacts)):
            self._stored.pop(key, None)
            self._stored[key] = None
        while len(self._stored) > CONTENTS_REMEMBERED:
            del self._stored[next(iter(self._stored))]

    def _tell(self, delta: SnapshotDelta) -> None:
        """Apply stored changes to the snapshot and notify listeners and waiters."""
        self.snapshot = delta.snapshot
        self.listeners.publish(*delta.notifications)
        self.waiters.settle(delta.requests)
        self.on_adopted()
