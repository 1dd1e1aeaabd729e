"""The rows of one session in the memory store, and the lock of its writer."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from core.domain.bank.item import Item, ItemAccess
from core.domain.ids import ArtifactId, BlockId, DraftId, EventId, ItemId, RequestId, SessionId
from core.domain.requests.request import Artifact, Request, total_cost
from core.domain.session.lore import Lorebooks
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, PromptBlocks
from core.domain.session.session import Session, SessionSummary, Tab1Inputs, title_from
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory
from core.domain.story.context_status import Statuses, always_of, with_statuses
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import BlockType, MemoryBlock
from core.domain.story.save_point import SavePoint
from core.domain.story.secret import Secret, reveals_in
from core.storage.changes import Changes
from core.storage.session_store import WriterInfo
from core.storage.snapshot import Snapshot, is_kept_in_snapshot, recent_from


class MemoryLease:
    """The writer's lock of one session; `lose` breaks its connection."""

    def __init__(self, rows: "Rows", label: str) -> None:
        rows.epoch += 1
        rows.writer = self
        self._rows = rows
        self.info = WriterInfo(label=label, since=datetime.now(UTC))
        self.epoch = rows.epoch
        self.is_lost = False
        self.is_closed = False
        self._gone = asyncio.Event()

    @property
    def session_id(self) -> SessionId:
        return self._rows.session.id

    def lose(self) -> None:
        """Break the connection: the server gives the lock back."""
        self.is_lost = True
        self._give_back()

    async def until_lost(self) -> None:
        await self._gone.wait()

    async def aclose(self) -> None:
        self.is_lost = self.is_closed = True
        self._give_back()

    def _give_back(self) -> None:
        self._gone.set()
        if self._rows.writer is self:
            self._rows.writer = None


@dataclass
class Rows:
    """Everything that is stored of one session. Frozen values, so that nothing is copied."""

    session: Session
    tab1: Tab1Inputs
    script_run: int = 0
    prompt_blocks: PromptBlocks = NO_PROMPT_BLOCKS
    secrets: tuple[Secret, ...] = ()
    lore: Lorebooks = ()
    unsent: dict[Slot, str] = field(default_factory=dict)
    events: dict[EventId, Event] = field(default_factory=dict)
    statuses: Statuses = ()
    blocks: dict[BlockId, MemoryBlock] = field(default_factory=dict)
    takes: dict[int, int] = field(default_factory=dict)
    canon_blocks: dict[tuple[int, int], BlockId] = field(default_factory=dict)
    condensed: dict[BlockId, CondensedMemory] = field(default_factory=dict)
    drafts: dict[DraftId, NarrativeDraft] = field(default_factory=dict)
    requests: dict[RequestId, Request] = field(default_factory=dict)
    artifacts: dict[ArtifactId, Artifact] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    save_points: dict[int, SavePoint] = field(default_factory=dict)
    items: dict[ItemId, list[Item]] = field(default_factory=dict)
    """Every version of each item, oldest first."""
    accesses: dict[ItemId, ItemAccess] = field(default_factory=dict)
    writer: MemoryLease | None = None
    epoch: int = 0

    def change(self, changes: Changes) -> None:
        """Make `changes` true: rows are added once, requests and composer texts are replaced."""
        json.dumps([event.metadata for event in changes.events], allow_nan=False)
        if changes.session is not None:
            at = changes.session.archived_at or self.session.archived_at
            self.session = replace(changes.session, archived_at=at)
        self.tab1 = changes.tab1 or self.tab1
        if changes.prompt_blocks is not None:
            self.prompt_blocks = changes.prompt_blocks
        if changes.secrets is not None:
            self.secrets = changes.secrets
        if changes.lore is not None:
            self.lore = changes.lore
        self.unsent.update(changes.unsent)
        for request in changes.requests:
            born = self.requests.get(request.id, request).created_at
            self.requests[request.id] = replace(request, created_at=born)
        self.contents.update((content.hash, content.text) for content in changes.contents)
        assert {one.copy_hash for one in self.lore} <= self.contents.keys()
        for artifact in changes.artifacts:
            assert {artifact.input_ref, artifact.output_ref or artifact.input_ref} <= self.contents.keys()
            self.artifacts.setdefault(artifact.id, artifact)
        for event in changes.events:
            self.events.setdefault(event.id, event)
        self.statuses = with_statuses(self.statuses, changes.statuses)
        assert {one.place for one in self.statuses} <= {one.log_place for one in self.events.values()}
        takes = {event.prompt_index: event.take for event in changes.events}
        if changes.takes is not None:
            takes = {0: 1, **changes.takes} if 0 in takes else dict(changes.takes)
        self.takes |= takes
        if changes.canon_end is not None:
            self.takes = {index: take for index, take in self.takes.items() if index <= changes.canon_end}
        for block in (*changes.blocks, *changes.revisions):
            self.blocks.setdefault(block.id, block)
        for block in changes.blocks:
            before = self.blocks[self.canon_blocks.get(block.place, block.id)]
            assert before.id == block.id or before.type is not BlockType.CANON_CORRECTION, (
                "a correction stays"
            )
        self.canon_blocks |= {block.place: block.id for block in changes.blocks}
        if changes.memory_end is not None:
            end = changes.memory_end
            self.canon_blocks = {place: id for place, id in self.canon_blocks.items() if place[0] <= end}
        for one in changes.condensed:
            self.condensed.setdefault(one.id, one)
        for draft in changes.drafts:
            self.drafts.setdefault(draft.id, draft)
        for item in sorted(changes.items, key=lambda item: item.version):
            versions = self.items.setdefault(item.id, [])
            if not versions or item.version > versions[-1].version:
                versions.append(item)
        self.accesses.update((access.item_id, access) for access in changes.accesses)

    def snapshot(self, recent_prompts: int = 0) -> Snapshot:
        """Return the session as it is opened: its memory is not known yet."""
        start = recent_from(self.session, recent_prompts)
        last = self.session.prompt_index
        at_boundary = (block for block in self.memory if block.last == self.session.boundary)
        counts = [(event.prompt_index, event.take) for event in self.log if event.prompt_index > start]
        kept = (request for request in self.requests.values() if is_kept_in_snapshot(request))
        return Snapshot(
            session=self.session,
            tab1=self.tab1,
            prompt_blocks=self.prompt_blocks,
            secrets=self.secrets,
            reveals=reveals_in(event for event in self.canon if event.prompt_index <= last)
            if self.secrets
            else (),
            lore=self.lore,
            condensed=self.condensed_canon,
            unsent={slot: text for slot, text in self.unsent.items() if text},
            recent=tuple(
                event for event in self.canon if event.summarised_with > start and event.prompt_index <= last
            ),
            statuses=self.statuses,
            kept=tuple(
                event
                for event in self.canon
                if event.summarised_with <= start and event.log_place in always_of(self.statuses)
            ),
            undone=tuple(event for event in self.canon if event.prompt_index > last),
            takes={index: take for index, take in counts if take > 1 or index > last},
            requests=tuple(sorted(kept, key=lambda request: request.id)),
            draft_count=len(self.drafts),
            spent=total_cost(self.artifacts.values()),
            last_ordinal=max((block.ordinal for block in at_boundary), default=0),
            is_memory_known=False,
            recent_prompts=recent_prompts,
        )

    @property
    def log(self) -> list[Event]:
        return sorted(self.events.values(), key=lambda event: event.log_place)

    @property
    def canon(self) -> list[Event]:
        return [event for event in self.log if self.takes.get(event.prompt_index) == event.take]

    @property
    def memory(self) -> list[MemoryBlock]:
        return [self.blocks[self.canon_blocks[place]] for place in sorted(self.canon_blocks)]

    @property
    def condensed_canon(self) -> tuple[CondensedMemory, ...]:
        told = sorted(self.condensed.values(), key=lambda one: one.order)
        return tuple(
            one
            for one in told
            if [block.id for block in self.memory if one.covers(block)] == list(one.sources)
        )

    @property
    def summary(self) -> SessionSummary:
        session = self.session
        return SessionSummary(
            id=session.id,
            title=title_from(session.title, self.tab1.chapter, self.tab1.world),
            state=session.state,
            prompt_index=session.prompt_index,
            draft_count=len(self.drafts),
            updated_at=session.updated_at,
            archived_at=session.archived_at,
        )

    @property
    def holder(self) -> WriterInfo | None:
        return self.writer.info if self.writer else None
