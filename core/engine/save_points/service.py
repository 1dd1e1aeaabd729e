"""Save points: create, name, delete and restore into a new session."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from core.domain.clock import Clock
from core.domain.draft import NarrativeDraft
from core.domain.errors import ErrorCode, IllegalCommandError, LimitExceededError, StoryEngineError
from core.domain.event import Event
from core.domain.ids import SessionId, new_uuid
from core.domain.limits import LONGEST_TITLE
from core.domain.memory import MemoryBlock
from core.domain.save_point import (
    AUTOMATIC,
    EMPTY_CHAIN,
    LINKS,
    LONGEST_LABEL,
    NAMED,
    Chains,
    SavePoint,
    SavePointContent,
    SlotDamagedError,
    chained,
    content_of,
    make_slot,
    number_for_automatic,
)
from core.domain.session import Session, title_from
from core.engine.kinds.registry import handler_of
from core.exchange.session_export import SessionBody, as_new_session
from core.store import Changes, SessionStore, Snapshot
from core.text.cleaning import clean_line

BATCH = 200
"""Prompts that are read and hashed at a time, so that a long story holds nothing up."""


class SavePoints:
    """The slots of every session of a store.

    They need no writer's lock: a slot is no part of what a session says, and two windows that take one at
    once take the same.
    """

    def __init__(self, store: SessionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._turn = asyncio.Lock()

    async def listed(self, session_id: SessionId) -> Sequence[SavePoint]:
        """Return the slots of a session by their numbers."""
        return await self._store.save_slots(session_id)

    async def create(
        self, session_id: SessionId, occasion: str, *, spared: int | None = None
    ) -> SavePoint | None:
        """Take an automatic slot, the oldest but `spared` giving way; None when the newest says the same."""
        async with self._turn:
            taken = await self._store.save_slots(session_id)
            content = await self._content(session_id, taken)
            number = number_for_automatic(taken, spared=spared)
            slot = make_slot(number, occasion, content, self._clock())
            ring = [other for other in taken if other.number in AUTOMATIC]
            newest = max(ring, key=lambda other: (other.taken_at, other.number), default=None)
            if newest is not None and newest.document == slot.document:
                return None
            await self._store.put_save_slot(slot)
            return slot

    async def keep(self, session_id: SessionId, name: str) -> SavePoint:
        """Keep how the session stands under a name; the same name again replaces what it stood for."""
        name = clean_line(name)
        if not name:
            raise IllegalCommandError("A save slot of yours needs a name.")
        if len(name) > LONGEST_LABEL:
            raise LimitExceededError("name", len(name), LONGEST_LABEL)
        async with self._turn:
            taken = await self._store.save_slots(session_id)
            slot = make_slot(
                _number_for(name, taken), name, await self._content(session_id, taken), self._clock()
            )
            await self._store.put_save_slot(slot)
            return slot

    async def drop(self, session_id: SessionId, number: int) -> None:
        """Let go of a slot that the GM named; the automatic ones give way by themselves."""
        slot = await self._found(session_id, number)
        if not slot.is_named:
            raise IllegalCommandError(
                f"Save slot {number} is automatic: it gives way to newer ones by itself."
            )
        await self._store.drop_save_slot(session_id, number)

    async def restore(self, session_id: SessionId, number: int) -> SessionId:
        """Make a new session that begins where a slot was taken, and return its id; nothing else changes.

        Raises SlotDamagedError when the story up to there is not what the slot vouches for.
        """
        slot = await self._found(session_id, number)
        body = await self._body(slot)
        await self.create(session_id, f"before save slot {number} was restored", spared=number)
        fresh = SessionId(new_uuid())
        await self._store.create(as_new_session(body, fresh))
        return fresh

    async def _found(self, session_id: SessionId, number: int) -> SavePoint:
        for slot in await self._store.save_slots(session_id):
            if slot.number == number:
                return slot
        raise IllegalCommandError(f"There is nothing in save slot {number}.")

    async def _content(self, session_id: SessionId, taken: Sequence[SavePoint]) -> SavePointContent:
        """Return how the session stands; of what only grows, what the newest slot knows is not read again."""
        snapshot = _all_unsent(await self._store.load(session_id))
        session = snapshot.session
        known = _newest_content(taken)
        before = known.session.prompt_index if known else 0
        events = known.chains.events if known else EMPTY_CHAIN
        async for batch in self._events(session_id, before, session.prompt_index):
            events = await asyncio.to_thread(chained, events, batch)
        place = (
            (known.session.boundary, known.corrections) if known and known.session.tab1_locked else (-1, 0)
        )
        new_blocks = await self._blocks(session, snapshot.corrections, after=place)
        blocks = await asyncio.to_thread(chained, known.chains.blocks if known else EMPTY_CHAIN, new_blocks)
        drafts = known.chains.drafts if known else EMPTY_CHAIN
        if (seen := known.draft_count if known else 0) < snapshot.draft_count:
            new = (await self._drafts(session_id, snapshot.draft_count))[seen:]
            drafts = await asyncio.to_thread(chained, drafts, new)
        return SavePointContent(
            session=session,
            tab1=snapshot.tab1,
            unsent=snapshot.unsent,
            draft_count=snapshot.draft_count,
            corrections=snapshot.corrections,
            chains=Chains(version=LINKS, events=events, blocks=blocks, drafts=drafts),
        )

    async def _body(self, slot: SavePoint) -> SessionBody:
        """Return the story up to a slot, all of it checked."""
        content = content_of(slot)
        session = content.session
        version = content.chains.version
        chain = EMPTY_CHAIN
        events: list[Event] = []
        async for batch in self._events(slot.session_id, 0, session.prompt_index):
            chain = await asyncio.to_thread(chained, chain, batch, version)
            events += batch
        blocks = await self._blocks(session, content.corrections, after=(-1, 0))
        drafts = await self._drafts(slot.session_id, content.draft_count)
        chains = Chains(
            version=version,
            events=chain,
            blocks=await asyncio.to_thread(chained, EMPTY_CHAIN, blocks, version),
            drafts=await asyncio.to_thread(chained, EMPTY_CHAIN, drafts, version),
        )
        if chains != content.chains:
            raise SlotDamagedError(slot.number, "the story up to it is not what it was")
        title = title_from(session.title, content.tab1.chapter, content.tab1.world)
        return SessionBody(
            session=replace(session, title=_title_with(title, slot.label), updated_at=self._clock()),
            tab1=content.tab1,
            unsent=content.unsent,
            events=tuple(events),
            blocks=tuple(blocks),
            # Their requests stay with the session in which the calls were made, as provenance does.
            drafts=tuple(replace(draft, request_id=None) for draft in drafts),
        )

    async def _events(self, session_id: SessionId, before: int, last: int) -> AsyncIterator[Sequence[Event]]:
        for first in range(before + 1, last + 1, BATCH):
            yield await self._store.log(session_id, first=first, last=min(last, first + BATCH - 1))

    async def _blocks(
        self, session: Session, corrections: int, *, after: tuple[int, int]
    ) -> list[MemoryBlock]:
        """Return the blocks behind that place, up to correction number `corrections` at the boundary."""
        if not session.tab1_locked:
            return []
        blocks = await self._store.blocks(session.id, after=after[0], corrections=after[1])
        return [block for block in blocks if block.place <= (session.boundary, corrections)]

    async def _drafts(self, session_id: SessionId, count: int) -> list[NarrativeDraft]:
        return [draft for draft in await self._store.drafts(session_id) if draft.version <= count]


def _title_with(title: str, label: str) -> str:
    """Restored from what was restored, a title would grow beyond what a title may have."""
    label = f" ({label})"
    return f"{title[: LONGEST_TITLE - len(label)].rstrip()}{label}"


def _newest_content(taken: Sequence[SavePoint]) -> SavePointContent | None:
    """Return the content of the slot that has come furthest, if it is whole and has links of today."""
    for slot in sorted(taken, key=lambda slot: (slot.prompt_index, slot.taken_at), reverse=True):
        try:
            content = content_of(slot)
        except SlotDamagedError:
            continue
        if content.chains.version == LINKS:
            return content
    return None


def _all_unsent(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with the texts of open prompts in their composers: their calls are not saved."""
    for request in reversed(snapshot.open_prompts):
        returned = handler_of(request).returned(snapshot, request)
        snapshot = snapshot.after(Changes(session_id=snapshot.session.id, unsent=returned))
    return snapshot


def _number_for(name: str, taken: Sequence[SavePoint]) -> int:
    named = {slot.number: slot for slot in taken if slot.is_named}
    for number, slot in named.items():
        if slot.label.casefold() == name.casefold():
            return number
    for number in NAMED:
        if number not in named:
            return number
    raise StoryEngineError(
        ErrorCode.ILLEGAL_COMMAND,
        f"All {len(NAMED)} save slots of yours are taken; nothing was changed.",
        "Let one go, or use the name of one to replace it.",
    )
