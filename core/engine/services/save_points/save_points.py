"""Save points: create, name, delete and restore into a new session."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from core.domain.clock import Clock
from core.domain.errors import (
    ChangedElsewhereError,
    ErrorCode,
    IllegalCommandError,
    LimitExceededError,
    StoryEngineError,
)
from core.domain.ids import SessionId, new_uuid
from core.domain.session.limits import LONGEST_TITLE
from core.domain.session.session import Session, title_from
from core.domain.story.condensed import still_condensed
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.save_point import (
    AUTOMATIC,
    EMPTY_CHAIN,
    LINKS,
    LONGEST_LABEL,
    NAMED,
    Chains,
    SavePoint,
    SavePointContent,
    SavePointDamagedError,
    chained,
    content_of,
    events_at,
    lines_after,
    make_save_point,
    memory_at,
    number_for_automatic,
)
from core.engine.kinds.registry import handler_of
from core.engine.services.bank.copies import bank_of, with_readings
from core.engine.services.save_points.covered import NOTHING, covered_by
from core.engine.sync.lore_reading import copies_of_lore
from core.exchange.session_copy import as_new_session, beginning_of
from core.exchange.session_export import SessionBody, changes_too_fast
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from core.storage.while_others_change import while_others_change
from core.text.cleaning import clean_line

T = TypeVar("T", bound=SavePoint | None)
BATCH = 200
"""Prompts to read and hash at a time, so that a long story blocks nothing."""


class SavePoints:
    """The save points of all sessions of a store.

    They need no writer's lock: they change nothing in the session, and two windows that create one at the
    same time store the same.
    """

    def __init__(self, store: SessionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._turn = asyncio.Lock()

    async def listed(self, session_id: SessionId) -> Sequence[SavePoint]:
        """Return the save points of a session, by number."""
        return await self._store.save_points.listed(session_id)

    async def create(
        self,
        session_id: SessionId,
        occasion: str,
        *,
        spared: int | None = None,
        state: Snapshot | None = None,
    ) -> SavePoint | None:
        """Create an automatic save point in place of the oldest but `spared`; None if nothing has changed.

        `state` is that of the session, where the caller has it: the session's writer need not read it.
        """

        async def made(taken: Sequence[SavePoint]) -> SavePoint | None:
            content = await self._content(state or await self._store.load(session_id), taken)
            number = number_for_automatic(taken, spared=spared)
            point = make_save_point(number, occasion, content, self._clock())
            ring = [other for other in taken if other.number in AUTOMATIC]
            newest = max(ring, key=lambda other: (other.taken_at, other.number), default=None)
            return None if newest is not None and newest.document == point.document else point

        return await self._put(session_id, made)

    async def keep(self, session_id: SessionId, name: str) -> SavePoint:
        """Store the current state under a name, in place of an earlier save point of this name."""
        name = clean_line(name)
        if not name:
            raise IllegalCommandError("A save slot of yours needs a name.")
        if len(name) > LONGEST_LABEL:
            raise LimitExceededError("name", len(name), LONGEST_LABEL)

        async def made(taken: Sequence[SavePoint]) -> SavePoint:
            content = await self._content(await self._store.load(session_id), taken)
            return make_save_point(_number_for(name, taken), name, content, self._clock())

        return await self._put(session_id, made)

    async def _put(self, session_id: SessionId, make: Callable[[Sequence[SavePoint]], Awaitable[T]]) -> T:
        """Store what `make` returns for the save points there are; another window may store one meanwhile."""

        async def stored() -> T:
            taken = await self._store.save_points.listed(session_id)
            point = await make(taken)
            if point is not None:
                await self._store.save_points.put(point, taken=taken)
            return point

        async with self._turn:
            try:
                return await while_others_change(stored)
            except ChangedElsewhereError:
                raise changes_too_fast("stored") from None

    async def drop(self, session_id: SessionId, number: int, *, seen: SavePoint | None = None) -> None:
        """Delete a save point that the GM named; automatic ones are replaced in turn.

        Raises ChangedElsewhereError where the number has another one than the one that was `seen`, or gets
        one meanwhile, which stays.
        """
        point = await self._found(session_id, number, seen)
        if not point.is_named:
            raise IllegalCommandError(
                f"Save slot {number} is automatic: newer ones replace it by themselves."
            )
        await self._store.save_points.delete(point)
        if any(one.number == number for one in await self.listed(session_id)):
            raise ChangedElsewhereError

    async def restore(
        self, session_id: SessionId, number: int, *, seen: SavePoint | None = None
    ) -> SessionId:
        """Create a new session from a save point and return its id; nothing else changes.

        Raises SavePointDamagedError when the story up to there does not match the hashes, and
        ChangedElsewhereError where the number has another one than the one that was `seen`.
        """
        point = await self._found(session_id, number, seen)
        body = await self._body(point)
        known = (await self._store.load(session_id)).condensed
        body = replace(body, condensed=still_condensed(known, body.blocks))
        await self.create(session_id, f"before save slot {number} was restored", spared=number)
        fresh = SessionId(new_uuid())
        await self._store.chapters.create(as_new_session(body, fresh, begins_work=True))
        return fresh

    async def damages(self, session_id: SessionId) -> Sequence[str]:
        """Return what does not hold of the save points of a session, and of the story up to each."""
        damages = []
        for point in await self._store.save_points.listed(session_id):
            try:
                await self._body(point)
            except SavePointDamagedError as error:
                damages.append(f"save slot {point.number}: {error.reason}")
        return damages

    async def _found(self, session_id: SessionId, number: int, seen: SavePoint | None = None) -> SavePoint:
        for point in await self._store.save_points.listed(session_id):
            if point.number == number:
                if seen not in (None, point):
                    raise ChangedElsewhereError
                return point
        raise IllegalCommandError(f"There is nothing in save slot {number}.")

    async def _content(self, state: Snapshot, taken: Sequence[SavePoint]) -> SavePointContent:
        """Return the content of that state, with hash chains that extend those of the newest save point."""
        snapshot = _all_unsent(state)
        session, session_id = snapshot.session, snapshot.session.id
        covered = covered_by(taken, snapshot)
        events, takes = covered.chains.events, dict(covered.takes)
        lines = 0
        first = max(0, covered.prompt_index)
        async for batch in _batches(self._store.canon, session_id, first, session.prompt_index):
            lines = lines_after(batch, session.prompt_index)
            added = covered.added(batch)
            events = await asyncio.to_thread(chained, events, added)
            takes |= {event.prompt_index: event.take for event in added if event.take > 1}
        new_blocks = await self._blocks(session, snapshot.last_ordinal, after=covered.memory)
        has_past = session.canon_version and covered is NOTHING
        past = await self._store.revisions(session_id) if has_past else ()
        blocks = await asyncio.to_thread(chained, covered.chains.blocks, new_blocks)
        drafts = covered.chains.drafts
        if covered.draft_count < snapshot.draft_count:
            new = (await self._drafts(session_id, snapshot.draft_count))[covered.draft_count :]
            drafts = await asyncio.to_thread(chained, drafts, new)
        # What was read one after the other is of one state only while canon grows at its end.
        if (await self._store.load(session_id)).session.canon_version != session.canon_version:
            raise changes_too_fast("stored")
        return SavePointContent(
            session=session,
            tab1=snapshot.tab1,
            prompt_blocks=snapshot.prompt_blocks,
            secrets=snapshot.secrets,
            lore=snapshot.lore,
            statuses=snapshot.statuses,
            lines=lines,
            unsent=snapshot.unsent,
            draft_count=snapshot.draft_count,
            corrections=snapshot.last_ordinal,
            takes=takes,
            revisions=covered.extended_revisions(new_blocks, past),
            chains=Chains(version=LINKS, events=events, blocks=blocks, drafts=drafts),
        )

    async def _body(self, point: SavePoint) -> SessionBody:
        """Return the story up to a save point, verified against its hashes."""
        content = content_of(point)
        session = content.session
        version = content.chains.version
        events, chain = await self._events(point, content)
        if chain != content.chains.events:
            events, chain = await self._events(point, content, point.taken_at)
        stored = await self._store.blocks(point.session_id)
        blocks = memory_at(content, (*await self._store.revisions(point.session_id), *stored))
        drafts = await self._drafts(point.session_id, content.draft_count)
        chains = Chains(
            version=version,
            events=chain,
            blocks=await asyncio.to_thread(chained, EMPTY_CHAIN, blocks, version),
            drafts=await asyncio.to_thread(chained, EMPTY_CHAIN, drafts, version),
        )
        if chains != content.chains:
            raise SavePointDamagedError(point.number, "the story up to it has changed")
        title = title_from(session.title, content.tab1.chapter, content.tab1.world)
        session = replace(
            session,
            title=title_with(title, point.label),
            branched_from=point.session_id,
            branched_at=session.prompt_index,
            updated_at=self._clock(),
        )
        readings, history = await bank_of(self._store.bank, session)
        kept = (content.tab1, content.secrets, events, blocks, content.statuses)
        body = beginning_of(session, *kept, items=history, until=point.taken_at)
        done = [one for one in readings if one.updated_at <= point.taken_at]
        body = with_readings(body, events, done, session.updated_at)
        # Other requests and provenance stay with the session that made the calls.
        drafts = [replace(draft, request_id=None) for draft in drafts]
        copies = await copies_of_lore(self._store.calls, point.session_id, content.lore)
        return replace(
            body,
            prompt_blocks=content.prompt_blocks,
            lore=content.lore,
            contents=copies,
            unsent=content.unsent,
            drafts=tuple(drafts),
        )

    async def _events(
        self, point: SavePoint, content: SavePointContent, until: datetime | None = None
    ) -> tuple[list[Event], str]:
        """Return the events up to a save point, see `events_at`, and their hash chain."""
        chain, events = EMPTY_CHAIN, list[Event]()
        async for log in _batches(self._store.log, point.session_id, 0, content.session.prompt_index):
            batch = events_at(content, log, until)
            chain = await asyncio.to_thread(chained, chain, batch, content.chains.version)
            events += batch
        return events, chain

    async def _blocks(self, session: Session, ordinal: int, *, after: tuple[int, int]) -> list[MemoryBlock]:
        """Return the blocks after a place in memory, up to block `ordinal` at the boundary."""
        if not session.tab1_locked:
            return []
        blocks = await self._store.blocks(session.id, after=after[0], ordinal=after[1])
        return [block for block in blocks if block.place <= (session.boundary, ordinal)]

    async def _drafts(self, session_id: SessionId, count: int) -> list[NarrativeDraft]:
        return [draft for draft in await self._store.drafts(session_id) if draft.version <= count]


async def _batches(
    read: Callable[..., Awaitable[Sequence[Event]]], session_id: SessionId, first: int, last: int
) -> AsyncIterator[Sequence[Event]]:
    """Yield the events of prompts `first` to `last` in batches of prompts, by a method of the store."""
    for start in range(first, last + 1, BATCH):
        yield await read(session_id, first=start, last=min(last, start + BATCH - 1))


def title_with(title: str, label: str) -> str:
    """Append the label, within the limit of a title: repeated restores append one each."""
    label = f" ({label})"
    return f"{title[: LONGEST_TITLE - len(label)].rstrip()}{label}"


def _all_unsent(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with open prompts returned to their composers: requests are not saved."""
    for request in reversed(snapshot.open_prompts):
        returned = handler_of(request).returned(snapshot, request)
        snapshot = snapshot.after(Changes(session_id=snapshot.session.id, unsent=returned))
    return snapshot


def _number_for(name: str, taken: Sequence[SavePoint]) -> int:
    labels = {point.number: point.label.casefold() for point in taken if point.is_named}
    same = [number for number, label in labels.items() if label == name.casefold()]
    free = [number for number in NAMED if number not in labels]
    if numbers := same + free:
        return numbers[0]
    raise StoryEngineError(
        ErrorCode.ILLEGAL_COMMAND,
        f"All {len(NAMED)} save slots of yours are taken; nothing was changed.",
        "Delete one, or use the name of one to replace it.",
    )
