"""A change with calls in it, which outlives a database that does not take it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from core.storage.changes import Changes
from core.storage.session_store import NO_EPOCH, SessionStore
from core.storage.snapshot import Snapshot

Decide = Callable[[Snapshot], Changes]


@dataclass(slots=True)
class PaidChange:
    """A change with calls in it, which is kept beside the store until it is stored."""

    _store: SessionStore
    decide: Decide
    before: "PaidChange | None" = None
    """The one that came before it and was not stored then."""
    epoch: int = NO_EPOCH
    """That of the lease under which it is being stored."""
    decided: Changes | None = None
    """As it is sent: decided once more it would have other ids, and could be stored twice."""
    is_kept: bool = False
    """Whether it ended unstored and kept; those behind it then follow from it."""
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep(self, snapshot: Snapshot) -> None:
        """Keep it as it was decided, or else as it would be decided on a snapshot after those before it."""
        behind = self._kept_before()
        for one in behind:
            snapshot = snapshot.after(one)
        self.decided = self.decided or self.decide(snapshot)
        await self._store.keep(self.decided, self.epoch, snapshot.session.updated_at, *behind)

    async def keep_at_end(self, snapshot: Snapshot, epoch: int) -> None:
        """Keep it, as its task ends: behind those before it, whose tasks end too."""
        if self.before is not None:
            await self.before.has_ended.wait()
        if self.decided is None:
            self.epoch = epoch
        await self.keep(snapshot)
        self.is_kept = True

    def _kept_before(self) -> list[Changes]:
        """Return the kept changes before it, oldest first."""
        before = self.before
        if before is None or not before.is_kept or before.decided is None:
            return []
        return [*before._kept_before(), before.decided]
