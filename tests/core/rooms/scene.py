"""A writer of one session on a store in memory, another window beside it, and what was heard of both."""

from core.domain.ids import RequestId
from core.domain.slot import Slot
from core.engine.decisions import commands, tab1_commands
from core.engine.sync.notifications import Notification
from core.engine.sync.session_writer import SessionWriter
from core.engine.sync.subscriptions import Listeners
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.simulation import active
from tests.core.values.sessions import NOW
from tests.store.in_memory.memory_store import MemoryLease

HERE, ELSEWHERE = "this window", "second window"


class Heard(Listeners):
    """Listeners that remember every notice."""

    def __init__(self) -> None:
        super().__init__()
        self.notifications: list[Notification] = []

    def publish(self, *notifications: Notification) -> None:
        self.notifications += notifications

    def count(self, kind: type[Notification]) -> int:
        return sum(isinstance(notification, kind) for notification in self.notifications)


class Scene:
    """A writer with its store, and what was heard of it."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self.store = FaultyStore(snapshot or active().snapshot)
        self.heard = Heard()
        self.lease = self.store.seize(HERE)
        self.writer = SessionWriter(
            store=self.store,
            listeners=self.heard,
            label=HERE,
            snapshot=self.store.snapshot,
            clock=lambda: NOW,
            lease=self.lease,
        )

    async def write(self, text: str) -> None:
        await self.writer.apply(lambda snapshot: commands.save_unsent(snapshot, Slot.RED, text))

    async def send(self, text: str) -> RequestId:
        request_ids: list[RequestId] = []

        def decide(snapshot: Snapshot) -> Changes:
            changes, request_id = commands.submit_prompt(snapshot, Slot.RED, text, NOW)
            request_ids.append(request_id)
            return changes

        await self.writer.apply(decide)
        return request_ids[-1]

    async def take_elsewhere(self, title: str) -> MemoryLease:
        """Another window becomes the writer, and writes."""
        other = self.store.seize(ELSEWHERE)
        await self.store.commit(tab1_commands.retitle(self.store.snapshot, title, NOW), other)
        return other

    @property
    def unsent(self) -> str:
        return self.store.snapshot.unsent.get(Slot.RED, "")
