"""A chapter as it is stored, by the Protocol of the store alone: the same in memory and on PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.bank.item import Item
from core.domain.ids import SessionId
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Stored:
    """What was stored of a chapter at one time."""

    snapshot: Snapshot
    canon: Sequence[Event]
    """Also those of prompts that were undone, which redo brings back."""
    blocks: Sequence[MemoryBlock]
    revisions: Sequence[MemoryBlock]
    """Blocks that are not canon."""
    versions: Sequence[Item]
    """Every version of each item of the bank."""

    @property
    def session(self) -> Session:
        return self.snapshot.session

    @property
    def played(self) -> list[Event]:
        """The events that are the story now."""
        return [event for event in self.canon if event.prompt_index <= self.session.prompt_index]


async def read_stored(store: SessionStore, session_id: SessionId) -> Stored:
    """Return what is stored of a chapter; where something is stored meanwhile, it is read again."""
    while True:
        before = await store.load(session_id)
        takes = {0: 1, **dict(enumerate(await store.takes(session_id), start=1))}
        log = await store.log(session_id)
        found = Stored(
            snapshot=before,
            canon=[event for event in log if takes.get(event.prompt_index) == event.take],
            blocks=await store.blocks(session_id),
            revisions=await store.revisions(session_id),
            versions=await store.bank.history(session_id),
        )
        if await store.load(session_id) == before:
            return found
