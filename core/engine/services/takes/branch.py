"""Branches: new sessions that begin with the canon of another one up to a prompt (design 12)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from core.context.canon_locks import audience_of_lock, has_lock
from core.domain.audience import EVERYONE, Audience
from core.domain.bank.item import Item
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.session.session import Session, read_away
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.condensed import still_condensed
from core.domain.story.event import AWAY, PRESENT, Event, Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.services.bank.copies import bank_of, with_readings
from core.engine.services.save_points.save_points import title_with
from core.engine.sync.lore_reading import copies_of_lore
from core.exchange.session_copy import beginning_of
from core.exchange.session_export import SessionBody, changes_too_fast
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from core.storage.while_others_change import TRIES


async def read_branch(store: SessionStore, session_id: SessionId, at: int, now: datetime) -> SessionBody:
    """Return the session that branches off at prompt `at`, from one state of a session that is being played.

    Raises IllegalCommandError without such a prompt, and StorageError when canon changes at every attempt.
    """
    for _ in range(TRIES):
        before = await store.load(session_id)
        if not 1 <= at <= before.session.prompt_index:
            last = before.session.prompt_index
            there = f"it has prompts 1 to {last:,}" if last else "it has no prompt yet"
            raise IllegalCommandError(f"The chapter cannot be branched at prompt {at:,}: {there}.")
        events = await store.canon(session_id, last=at)
        blocks = await store.blocks(session_id)
        after = await store.load(session_id)
        if (after.session.canon_version, after.session.boundary) == (
            before.session.canon_version,
            before.session.boundary,
        ):
            readings, history = await bank_of(store.bank, before.session)
            body = branch_at(before, events, blocks, at, now, history)
            body = with_readings(body, events, readings, now)
            return replace(body, contents=await copies_of_lore(store.calls, session_id, before.lore))
    raise changes_too_fast("stored")


def branch_at(
    snapshot: Snapshot,
    events: Sequence[Event],
    blocks: Sequence[MemoryBlock],
    at: int,
    now: datetime,
    items: Sequence[Item] = (),
) -> SessionBody:
    """Return the session that has canon 1 to `at` and its memory, with cast and tab 1 as they were locked."""
    session = snapshot.session
    memory = _memory_until(blocks, at)
    speaker = next(event.slot for event in reversed(events) if event.role is Role.AGENT)
    present, away = session.present, session.away
    if at != session.prompt_index:
        present, away = _present_at(events), _away_at(events)
    title = snapshot.title
    pinned = tuple(lock for lock in session.pinned if _is_of(lock, memory) or not _is_of(lock, blocks))
    later = [block for block in blocks if block.last > at]
    labels = {lock: _label_in(session, lock, memory, later) for lock in (*pinned, *session.struck)}
    branched = replace(
        session,
        pinned=pinned,
        private_pins={lock: label for lock, label in labels.items() if not label.is_everyone},
        title=title_with(title, f"branch at prompt {at}"),
        state=SessionState.ACTIVE if session.tab1_locked else SessionState.DRAFT_TAB1,
        is_ending=False,
        prompt_index=at,
        boundary=memory[-1].last if memory else 0,
        present=present,
        away=away,
        branched_from=session.id,
        branched_at=at,
        created_at=now,
        updated_at=now,
    )
    branched = replace(branched, next_slot=branched.speaker_after(speaker or session.next_slot))
    kept = (snapshot.tab1, snapshot.secrets, events, memory, snapshot.statuses)
    body = beginning_of(branched, *kept, items=items)
    condensed = still_condensed(snapshot.condensed, memory)
    return replace(body, prompt_blocks=snapshot.prompt_blocks, lore=snapshot.lore, condensed=condensed)


def _is_of(lock: str, blocks: Sequence[MemoryBlock]) -> bool:
    """Whether a block has this canon lock: one that only later memory has is not known yet in a branch."""
    return any(has_lock(block, lock) for block in blocks)


def _label_in(
    session: Session, lock: str, memory: Sequence[MemoryBlock], later: Sequence[MemoryBlock]
) -> Audience:
    """Return who may know a marked canon lock in a branch: not those whom only later memory tells it."""
    label = session.private_pins.get(lock, EVERYONE)
    return label & audience_of_lock(lock, memory) if _is_of(lock, memory) and _is_of(lock, later) else label


def _present_at(events: Sequence[Event]) -> Audience:
    """Return who was present when the last prompt of `events` was sent."""
    prompt = next(event for event in reversed(events) if event.role is Role.USER)
    mask = prompt.metadata.get(PRESENT)
    return Audience.of_mask(mask) if isinstance(mask, int) else EVERYONE


def _away_at(events: Sequence[Event]) -> dict[Slot, int]:
    """Return who was away when the last prompt of `events` was sent, and until when."""
    prompt = next(event for event in reversed(events) if event.role is Role.USER)
    away = prompt.metadata.get(AWAY)
    return read_away(away) if isinstance(away, Mapping) else {}


def _memory_until(blocks: Sequence[MemoryBlock], at: int) -> list[MemoryBlock]:
    """Return the memory that there was at prompt `at`; corrections that were made later are not in it."""
    memory: list[MemoryBlock] = []
    for block in blocks:
        if block.last > at:
            break
        if block.type is not BlockType.CANON_CORRECTION:
            memory.append(block)
        elif block.corrects_after <= at:
            memory.append(replace(block, ordinal=memory[-1].ordinal + 1))
    return memory
