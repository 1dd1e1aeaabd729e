"""The one way in which an open session's changes become durable, and known to whoever listens.

Changes are decided on the snapshot, stored, and only then adopted: what a listener hears is stored.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from core.engine.listeners import Listeners
from core.engine.notices import (
    DraftStored,
    EventsAppended,
    MemoryAppended,
    Notice,
    RequestFailed,
    RequestQueued,
    RequestSettled,
    SessionChanged,
    StorageRecovered,
    StorageTrouble,
    UnsentChanged,
    WriterChanged,
)
from core.errors import ErrorCode, SessionLockedError, StorageError, StoryEngineError
from core.request import Request, RequestState
from core.store import Changes, Holder, Lease, Snapshot, Store

log = logging.getLogger(__name__)

Decide = Callable[[Snapshot], Changes]

FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0


@dataclass(kw_only=True)
class Writer:
    """Holds the snapshot of one session and the right to write it; hands both over to nobody."""

    store: Store
    listeners: Listeners
    label: str
    snapshot: Snapshot
    lease: Lease | None
    holder: Holder | None
    is_stale: bool = False
    """A commit failed in a way that leaves open whether it was applied; read again before the next."""

    def __post_init__(self) -> None:
        self._mutex = asyncio.Lock()
        self._settled: dict[object, asyncio.Future[Request]] = {}

    async def apply(self, decide: Decide) -> Changes:
        """Decide on the snapshot as it is, store, adopt; what the store cannot do now is raised."""
        return await asyncio.shield(asyncio.ensure_future(self._apply(decide)))

    async def apply_patiently(self, decide: Decide) -> Changes:
        """As `apply`, but wait for the store to come back: what was paid for is not given up (promise 1).

        Raises SessionLockedError when another window took the session meanwhile.
        """
        return await asyncio.shield(asyncio.ensure_future(self._apply_patiently(decide)))

    async def _apply(self, decide: Decide) -> Changes:
        async with self._mutex:
            await self._make_ready()
            changes = decide(self.snapshot)
            await self._store_and_adopt(changes)
            return changes

    async def _apply_patiently(self, decide: Decide) -> Changes:
        async with self._mutex:
            changes: Changes | None = None
            wait = FIRST_WAIT
            while True:
                try:
                    if changes is None:
                        await self._make_ready()
                        changes = decide(self.snapshot)
                    await self._require_lease()
                    await self._store_and_adopt(changes)
                except StorageError as error:
                    if not error.is_transient:
                        raise
                    if wait == FIRST_WAIT:
                        self.listeners.publish(StorageTrouble(error))
                    await asyncio.sleep(wait)
                    wait = min(LONGEST_WAIT, wait * 2)
                else:
                    if wait != FIRST_WAIT:
                        self.listeners.publish(StorageRecovered())
                    return changes

    async def _make_ready(self) -> None:
        await self._require_lease()
        if self.is_stale:
            self.snapshot = await self.store.load(self.snapshot.session.id)
            self.is_stale = False
            self.listeners.publish(SessionChanged(self.snapshot.session))

    async def _require_lease(self) -> None:
        """Have the writer's lock, taking it again when its connection was lost."""
        if self.lease is None:
            raise SessionLockedError()
        if not self.lease.is_lost:
            return
        taken = await self.store.acquire(self.snapshot.session.id, self.label)
        if isinstance(taken, Holder):
            self.lease, self.holder = None, taken
            self.listeners.publish(WriterChanged(taken))
            raise SessionLockedError()
        self.lease = taken

    async def _store_and_adopt(self, changes: Changes) -> None:
        if self.lease is None:
            raise SessionLockedError()
        try:
            await self.store.commit(changes, self.lease)
        except StorageError:
            self.is_stale = True
            raise
        self.is_stale = False
        self.adopt(changes)

    def adopt(self, changes: Changes) -> None:
        """Take stored changes into the snapshot and tell the listeners."""
        before = self.snapshot
        self.snapshot = before.after(changes)
        self.listeners.publish(*notices_of(before, changes))
        for request in changes.requests:
            if not request.state.is_open and (waiting := self._settled.pop(request.id, None)):
                waiting.set_result(request)

    def fail_waiting(self, error: BaseException) -> None:
        """Tell whoever waits for a request that it will not be settled in this window."""
        for waiting in self._settled.values():
            waiting.set_exception(error)
        self._settled.clear()

    def settled(self, request: Request) -> "asyncio.Future[Request]":
        """Return a future that is done when the request is settled."""
        return self._settled.setdefault(request.id, asyncio.get_running_loop().create_future())


def notices_of(before: Snapshot, changes: Changes) -> list[Notice]:
    """Return what listeners hear of changes: data first, then the state, then what was settled."""
    notices: list[Notice] = []
    if changes.events:
        notices.append(EventsAppended(changes.events))
    notices += [MemoryAppended(block) for block in changes.blocks]
    notices += [DraftStored(draft) for draft in changes.drafts]
    notices += [UnsentChanged(slot, text) for slot, text in changes.unsent.items()]
    if changes.session is not None and changes.session != before.session:
        notices.append(SessionChanged(changes.session))
    for request in changes.requests:
        match request.state:
            case RequestState.PENDING:
                notices.append(RequestQueued(request))
            case RequestState.PROCESSING:
                pass
            case RequestState.FAILED:
                error = StoryEngineError(request.error_code or ErrorCode.LLM_ERROR, request.error_message)
                notices += [RequestFailed(request, error), RequestSettled(request)]
            case RequestState.DONE | RequestState.CANCELLED:
                notices.append(RequestSettled(request))
    return notices
