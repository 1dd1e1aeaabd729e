"""Notifications of the changes of a session, made here or by another window."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import Request, RequestState
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock, compact_old_deltas
from core.engine.kinds.registry import handler_of
from core.engine.sync import notifications as notices
from core.engine.sync.notifications import Notification
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot, full_deltas_from


@dataclass(frozen=True, slots=True)
class SnapshotDelta:
    """A new snapshot, the notifications of its changes, and the requests that changed."""

    snapshot: Snapshot
    notifications: tuple[Notification, ...]
    requests: tuple[Request, ...]


def notifications_for(before: Snapshot, changes: Changes, *, is_replaced: bool = False) -> list[Notification]:
    """Return the notifications of changes: data first, then the state, then requests.

    `is_replaced` says that the chapter is no later state of `before`: a backup was restored.
    """
    notifications: list[Notification] = []
    session = changes.session or before.session
    if is_replaced:
        notifications += [notices.CanonChanged(1), *([notices.BankChanged()] if session.keeps_bank else ())]
    elif session.canon_version != before.session.canon_version:
        places = [event.prompt_index for event in changes.events] + [block.first for block in changes.blocks]
        first = min(session.prompt_index + 1, before.session.prompt_index, *places)
        notifications.append(notices.CanonChanged(max(1, first)))
    else:
        redone = [event for event in before.undone if event.prompt_index <= session.prompt_index]
        if events := changes.events or tuple(redone):
            notifications.append(notices.EventsAppended(events))
        notifications += [notices.MemoryAppended(block) for block in changes.blocks]
    if changes.items:
        notifications.append(notices.BankChanged())
    notifications += [notices.DraftStored(draft) for draft in changes.drafts]
    notifications += [notices.UnsentChanged(slot, text) for slot, text in changes.unsent.items()]
    if changes.prompt_blocks is not None and changes.prompt_blocks != before.prompt_blocks:
        notifications.append(notices.PromptBlocksChanged())
    if changes.session is not None and changes.session != before.session:
        notifications.append(notices.SessionChanged(changes.session))
    for request in changes.requests:
        notifications += _notices_of_request(request)
    return notifications


async def read_changes(store: SessionStore, before: Snapshot) -> SnapshotDelta:
    """Read the session and return what changed since `before`; raise StorageError."""
    now = await store.load(before.session.id, recent_prompts=before.recent_prompts)
    first, last = before.session.prompt_index + 1, now.session.prompt_index
    is_replaced = not await _is_later(store, before, now)
    is_appended = now.session.canon_version == before.session.canon_version and not is_replaced
    events: Sequence[Event] = ()
    blocks: Sequence[MemoryBlock] = ()
    if is_appended:
        played = await store.canon(now.session.id, first=first, last=last) if last >= first else ()
        added = (event for event in now.recent if event.prompt_index < first and event.is_added)
        events = (*(event for event in added if event not in before.recent), *played)
        blocks = await _new_blocks(store, before, now)
        # Memory is read on first use, and may be newer than the session was then.
        had = {block.id for block in before.blocks}
        memory = (*before.blocks, *(block for block in blocks if block.id not in had))
        known = compact_old_deltas(memory, full_deltas_from(now.session))
    else:
        events = [event for event in now.recent if event not in before.recent]
        known = tuple(await store.memory(now.session.id)) if before.is_memory_known else ()
    now = replace(now, lore_books=before.lore_books)
    if before.is_memory_known:
        now = replace(now, blocks=known, is_memory_known=True)
    drafts: Sequence[NarrativeDraft] = ()
    if now.draft_count > before.draft_count:
        drafts = (await store.drafts(now.session.id))[before.draft_count : now.draft_count]
    return diff_snapshots(before, now, events, blocks, drafts, is_replaced=is_replaced)


async def _is_later(store: SessionStore, before: Snapshot, now: Snapshot) -> bool:
    """Return whether the chapter is a later state of `before`, as always unless a backup was restored."""
    old, new = before.session, now.session
    if new.canon_version != old.canon_version:
        return new.canon_version > old.canon_version
    if new.boundary < old.boundary or now.draft_count < before.draft_count:
        return False
    newest = max(before.recent, key=lambda event: event.prompt_index, default=None)
    if newest is None or newest.prompt_index > new.prompt_index:
        return newest is None
    there: Sequence[Event] = now.recent
    if not there or there[0].prompt_index > newest.prompt_index:
        there = await store.canon(new.id, first=newest.prompt_index, last=newest.prompt_index)
    return any(event.id == newest.id for event in there)


async def _new_blocks(store: SessionStore, before: Snapshot, now: Snapshot) -> Sequence[MemoryBlock]:
    old, new = before.session, now.session
    is_same = (new.boundary, new.tab1_locked) == (old.boundary, old.tab1_locked)
    if is_same and now.last_ordinal == before.last_ordinal:
        return ()
    after = old.boundary if old.tab1_locked else -1
    found = await store.blocks(new.id, after=after, ordinal=before.last_ordinal)
    # What was stored after the session was read comes with it at the next reading.
    return [block for block in found if block.place <= (new.boundary, now.last_ordinal)]


def diff_snapshots(
    before: Snapshot,
    now: Snapshot,
    events: Sequence[Event],
    blocks: Sequence[MemoryBlock],
    drafts: Sequence[NarrativeDraft],
    *,
    is_replaced: bool = False,
) -> SnapshotDelta:
    """Return the difference of two snapshots, given the rows that were added."""
    known = {request.id: request for request in before.requests}
    kept = {request.id for request in now.requests}
    changed = [request for request in now.requests if known.get(request.id) != request]
    changes = Changes(
        session_id=now.session.id,
        session=now.session,
        prompt_blocks=now.prompt_blocks,
        secrets=now.secrets if now.secrets != before.secrets else None,
        lore=now.lore if now.lore != before.lore else None,
        events=tuple(events),
        blocks=tuple(blocks),
        drafts=tuple(drafts),
        unsent={
            slot: now.unsent.get(slot, "")
            for slot in Slot
            if now.unsent.get(slot, "") != before.unsent.get(slot, "")
        },
    )
    gone = [_ended(request, changes) for request in before.requests if request.id not in kept]
    changes = replace(changes, requests=(*gone, *changed))
    told = notifications_for(before, changes, is_replaced=is_replaced)
    return SnapshotDelta(now, tuple(told), changes.requests)


def _notices_of_request(request: Request) -> list[Notification]:
    match request.state:
        case RequestState.PENDING:
            return [notices.RequestQueued(request)]
        case RequestState.PROCESSING:
            return [notices.RequestBegun(request)]
        case RequestState.FAILED | RequestState.DEAD:
            error = StoryEngineError(request.error_code or ErrorCode.LLM_ERROR, request.error_message)
            return [notices.RequestFailed(request, error)]
        case RequestState.DONE | RequestState.CANCELLED:
            return [notices.RequestSettled(request)]


def _ended(request: Request, changes: Changes) -> Request:
    """Return a request that left the snapshot, as done if its result was stored, else as cancelled."""
    is_done = handler_of(request).is_done(request, changes)
    return replace(request, state=RequestState.DONE if is_done else RequestState.CANCELLED)
