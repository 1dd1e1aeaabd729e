"""Builds changes of canon: a new take of a prompt, and the memory that is withdrawn for it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from core.domain.audience import Audience
from core.domain.ids import BlockId, EventId, SessionId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.context_status import EventStatus, Statuses
from core.domain.story.event import AFTERTHOUGHT_SECONDS, AWAY, PRESENT, REPEATS, REQUEST_ID, Event, Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.domain.story.reply_uses import kept_from
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

ORIGIN: Final = "origin"
"""The key under which the metadata of a reply says that it is not a model's whole answer."""


NO_METADATA: Final[Mapping[str, object]] = MappingProxyType({})


class Origin(StrEnum):
    """Origin of a reply that is not the whole answer of a model."""

    CORRECTED = "corrected"
    """By the GM."""
    PARTIAL = "partial"
    """From the beginning of an answer that was stopped."""
    CONTINUED = "continued"
    """From an earlier take and its continuation."""


@dataclass(frozen=True, slots=True)
class NewTake:
    """The place of a take that is stored next."""

    session_id: SessionId
    prompt_index: int
    take: int
    now: datetime

    def prompt(self, session: Session, text: str, request_id: str, audience: Audience) -> Event:
        """Return the GM's text, with those of the session who are in the scene and those who are away."""
        source: dict[str, object] = {REQUEST_ID: request_id}
        if not session.present.is_everyone:
            source[PRESENT] = session.present.mask
        if session.away:
            source[AWAY] = {str(int(one)): back for one, back in session.away.items()}
        return self._event(0, Role.USER, None, text, source, audience)

    def reply(
        self, ordinal: int, slot: Slot | None, text: str, metadata: Mapping[str, object], audience: Audience
    ) -> Event:
        """Return a reply of the character in `slot`."""
        return self._event(ordinal, Role.AGENT, slot, text, metadata, audience)

    def of(self, canon: Iterable[Event]) -> tuple[Event, ...]:
        """Return the events of another take of the prompt as those of this one."""
        return tuple(
            replace(event, id=EventId(new_uuid()), take=self.take, ordinal=ordinal, created_at=self.now)
            for ordinal, event in enumerate(canon)
        )

    def line(self, ordinal: int, text: str, audience: Audience, metadata: Mapping[str, object]) -> Event:
        """Return a line of the GM that is addressed to no character."""
        return self._event(ordinal, Role.SYSTEM, None, text, metadata, audience)

    def lines_of(self, snapshot: Snapshot) -> tuple[Event, ...]:
        """Return the lines that canon has at the prompt, for this take: another reply keeps them."""
        lines = [event for event in snapshot.recent if event.prompt_index == self.prompt_index]
        lines = [event for event in lines if event.role is Role.SYSTEM]
        return tuple(
            self.line(ordinal, line.text, line.audience, line.metadata)
            for ordinal, line in enumerate(lines, start=2)
        )

    def _event(
        self,
        ordinal: int,
        role: Role,
        slot: Slot | None,
        text: str,
        metadata: Mapping[str, object],
        audience: Audience,
    ) -> Event:
        return Event(
            id=EventId(new_uuid()),
            session_id=self.session_id,
            prompt_index=self.prompt_index,
            take=self.take,
            ordinal=ordinal,
            role=role,
            slot=slot,
            text=text,
            metadata=metadata,
            audience=audience,
            created_at=self.now,
        )


def source_of(
    request_id: str, origin: Origin | None, repeats: str = "", said: Mapping[str, object] = NO_METADATA
) -> dict[str, object]:
    """Return the metadata of a reply: the request that it came from, how it came about, and `said`."""
    source: dict[str, object] = {REQUEST_ID: request_id}
    if origin is not None:
        source[ORIGIN] = origin.value
    source.update(said)
    if repeats:
        source[REPEATS] = repeats
    return source


def rewritten(reply: Event, text: str, source: Mapping[str, object]) -> Event:
    """Return a reply with another text; an afterthought is still one.

    The lore that was active for it stays active.
    """
    kept = kept_from(reply.metadata)
    if reply.is_afterthought:
        kept[AFTERTHOUGHT_SECONDS] = reply.metadata[AFTERTHOUGHT_SECONDS]
    return replace(reply, text=text, metadata={**source, **kept})


def newest_events(snapshot: Snapshot) -> list[Event]:
    """Return the canon of the newest prompt; before the first one, the lines that are there."""
    return [event for event in snapshot.recent if event.prompt_index == snapshot.session.prompt_index]


def carried_statuses(snapshot: Snapshot, take: Iterable[Event]) -> Statuses:
    """Return what the GM said of the newest prompt's canon, for those of another take with the same words."""
    said = {one.place: one.status for one in snapshot.statuses}
    if not said:
        return ()
    canon = [event for event in newest_events(snapshot) if event.log_place in said]
    known = {(event.role, event.slot, event.text): said[event.log_place] for event in canon}
    return tuple(
        EventStatus(*event.log_place, known[words])
        for event in take
        if (words := (event.role, event.slot, event.text)) in known
    )


def end_of_canon(snapshot: Snapshot, now: datetime) -> tuple[NewTake, int]:
    """Return the canon take of the newest prompt, and the ordinal of its next line."""
    events = newest_events(snapshot)
    session = snapshot.session
    take = NewTake(session.id, session.prompt_index, events[-1].take if events else 1, now)
    return take, events[-1].ordinal + 1 if events else 0


def new_take(snapshot: Snapshot, prompt_index: int, now: datetime) -> NewTake:
    """Return the place of the next take of a prompt."""
    return NewTake(snapshot.session.id, prompt_index, snapshot.take_count(prompt_index) + 1, now)


def withdraw_newest(snapshot: Snapshot, now: datetime) -> tuple[Session, Changes]:
    """Return the session, and the changes of memory, for a change of the newest prompt's canon.

    If that prompt is in memory its blocks are withdrawn and the boundary goes back. The GM's corrections that
    followed them stay in force: they follow the block before as new revisions.
    """
    before = snapshot.session
    session = replace(before, canon_version=before.canon_version + 1)
    if not 0 < before.boundary == before.prompt_index:
        return session, Changes(session_id=session.id)
    if not snapshot.is_memory_known:
        raise ValueError("the memory must be known, as a block is withdrawn")
    at_boundary = [block for block in snapshot.blocks if block.last == before.boundary]
    end = next(block.first for block in at_boundary if block.type is BlockType.TURN_DELTA) - 1
    session = replace(session, boundary=end)
    kept = max((block.ordinal for block in snapshot.blocks if block.last == end), default=0)
    corrections = [block for block in at_boundary if block.type is BlockType.CANON_CORRECTION]
    moved = tuple(
        replace(
            block,
            id=BlockId(new_uuid()),
            first=end,
            last=end,
            ordinal=kept + number,
            revision=session.canon_version + 1,
            created_at=now,
        )
        for number, block in enumerate(corrections, start=1)
    )
    return session, Changes(session_id=session.id, blocks=moved, memory_end=end)


def before_newest(snapshot: Snapshot, earlier: Sequence[Event], now: datetime) -> Snapshot:
    """Return the snapshot as it would be without its newest prompt; `earlier` are events of canon.

    They reach back to `recent_from` of the result.
    """
    session, withdrawn = withdraw_newest(snapshot, now)
    session = replace(session, prompt_index=session.prompt_index - 1)
    result = snapshot.after(replace(withdrawn, session=session))
    return replace(result, recent=tuple(earlier))


def block_before(blocks: Sequence[MemoryBlock], first: int) -> BlockId | None:
    """Return the last block of memory before prompt `first`."""
    earlier = [block.id for block in blocks if block.last < first]
    return earlier[-1] if earlier else None


def stale_blocks(blocks: Sequence[MemoryBlock]) -> frozenset[BlockId]:
    """Return the deltas that were made from an older memory than the one before them in `blocks`.

    A delta of which it is not known was made from first revisions.
    """
    stale: set[BlockId] = set()
    before: MemoryBlock | None = None
    for block in blocks:
        if block.type is BlockType.TURN_DELTA and before is not None:
            is_first = block.made_from is None and before.revision == 1
            if stale or not (is_first or block.made_from == before.id):
                stale.add(block.id)
        before = block
    return frozenset(stale)
