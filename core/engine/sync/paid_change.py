"""Changes while they are being stored; one with calls in it outlives a database that does not take it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from core.domain.errors import StorageError
from core.storage.changes import Changes
from core.storage.session_store import NO_EPOCH, Lease, SessionStore
from core.storage.snapshot import Snapshot

Decide = Callable[[Snapshot], Changes]


def epoch_of(lease: Lease | None) -> int:
    """Return the epoch of a lease, or that of none."""
    return NO_EPOCH if lease is None else lease.epoch


@dataclass(slots=True)
class Change:
    """A change while it is being stored, of which nothing is kept elsewhere."""

    is_paid: ClassVar[bool] = False

    decide: Decide
    epoch: int = field(default=NO_EPOCH, init=False)
    """That of the lease under which it is being stored."""
    decided: Changes | None = field(default=None, init=False)
    """As it is sent: decided once more it would have other ids, and could be stored twice."""

    def begin(self) -> None:
        """Begin to store it."""

    async def keep(self, snapshot: Snapshot) -> None:
        """Keep it, while the store does not take it."""


@dataclass(slots=True)
class PaidChange(Change):
    """A change with calls in it, which is kept beside the store until it is stored."""

    is_paid: ClassVar[bool] = True

    _store: SessionStore
    before: "PaidChange | None" = None
    """The one that came before it and was not stored then."""
    waits: bool = True
    """Whether its turn has not come: it is kept as it would be decided behind those before it."""
    is_kept: bool = False
    """Whether it ended unstored and kept; those behind it then follow from it."""
    _base: tuple[object, ...] = ()
    """The snapshot, and the changes after that, on which it was decided while it waits."""
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Whether it was stored or refused."""
        return self.has_ended.is_set() and not self.is_kept

    async def keep(self, snapshot: Snapshot) -> None:
        """Keep it as it was decided, or else as it would be decided on a snapshot after those before it."""
        behind = self._kept_before()
        base = (snapshot, *behind)
        if self.waits and [*map(id, base)] != [*map(id, self._base)]:
            self.decided, self._base = None, base
        for one in behind:
            snapshot = snapshot.after(one)
        self.decided = self.decided or self.decide(snapshot)
        await self._store.keep(self.decided, self.epoch, snapshot.session.updated_at, *behind)

    def begin(self) -> None:
        """Begin to store it: it is decided again, after all that is stored."""
        self.waits, self.decided, self._base = False, None, ()
        while self.before is not None and self.before.is_over:  # it would keep all that came before
            self.before = self.before.before

    async def keep_waiting(self, snapshot: Snapshot, lease: Lease | None) -> None:
        """Keep those that wait for their turn, up to this one, oldest first, also after one that fails."""
        try:
            if self.before is not None:
                await self.before.keep_waiting(snapshot, lease)
        finally:
            if self.waits and not self.has_ended.is_set():
                self.epoch = epoch_of(lease)
                await self.keep(snapshot)

    async def keep_after(self, error: BaseException, snapshot: Snapshot, lease: Lease | None) -> None:
        """Keep it, as its task ends: behind those before it, whose tasks end too.

        Of a change that the store refused for good the calls alone are kept: the next may be stored without
        them.
        """
        if isinstance(error, StorageError):
            self.epoch = NO_EPOCH
            await self.keep(snapshot)
            return
        if self.before is not None:
            await self.before.has_ended.wait()
        if self.waits or self.decided is None:
            self.epoch = epoch_of(lease)
        await self.keep(snapshot)
        self.is_kept = True

    def _kept_before(self) -> list[Changes]:
        """Return the kept changes before it, oldest first."""
        before = self.before
        if before is None:
            return []
        own = () if before.is_over or before.decided is None else (before.decided,)
        return [*before._kept_before(), *own]
