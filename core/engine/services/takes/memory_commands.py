"""The GM's commands for revisions of memory, as pure functions (design 12)."""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.agents.answers.edited_json import require_object
from core.agents.answers.json_output import InvalidMemoryError
from core.agents.memory import context_summary
from core.config.models.model_config import PromptStyle
from core.context.canon_locks import audience_of_lock, has_lock
from core.domain.audience import EVERYONE, Audience
from core.domain.errors import IllegalCommandError, LimitExceededError
from core.domain.ids import BlockId, RequestId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import SummaryRequest
from core.domain.session.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.domain.session.state_machine import Command
from core.domain.story.memory import BlockType, MemoryBlock, lock_key
from core.engine.changes.moves import given_up, move, new_request
from core.engine.decisions.tab1_commands import within
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean, is_blank

ANOTHER_REVISION: Final = (
    "This memory was made again meanwhile; nothing was changed. Copy your text, and edit the new revision."
)


def rebuild_block(
    snapshot: Snapshot, last: int, now: datetime, *, model: str = ""
) -> tuple[Changes, RequestId]:
    """Request another revision of the block that ends with prompt `last`, from the canon of its prompts."""
    block = delta_ending(snapshot, last)
    session = move(snapshot, snapshot.session, Command.REBUILD_BLOCK, now)
    # The new blocks have a revision of their own, also if the newest prompt is undone meanwhile.
    session = replace(session, canon_version=session.canon_version + 1)
    request = SummaryRequest(
        prompts=PromptRange(block.first, block.last),
        model=within("model", model, session.limits.prompt).strip(),
        **new_request(session.id, now),
    )
    failed = snapshot.failed(SummaryRequest)
    earlier = tuple(given_up(one, now) for one in failed if one.prompts.last <= session.boundary)
    return Changes(session_id=session.id, session=session, requests=(*earlier, request)), request.id


class LockMark(StrEnum):
    """The GM's mark of a canon lock."""

    PINNED = "pinned"
    """It is in memory, whatever becomes of the blocks that have it."""
    STRUCK = "struck"
    """It is not in memory, whichever block has it."""
    PLAIN = "plain"
    """It is in memory as its block has it."""


def mark_lock(snapshot: Snapshot, lock: str, mark: LockMark, now: datetime) -> Changes:
    """Pin or strike a canon lock, or leave it to its block again; it holds for every revision.

    The memory of `snapshot` is known: a pinned lock stays with those who may know the blocks that have it.
    """
    session = move(snapshot, snapshot.session, Command.CORRECT_CANON, now)
    lock = " ".join(within("canon lock", lock, LONGEST_CORRECTION).split())
    if is_blank(lock):
        raise IllegalCommandError("There is no text of a canon lock; choose one of the memory.")
    pinned, struck = (
        tuple(other for other in locks if other.casefold() != lock.casefold())
        for locks in (session.pinned, session.struck)
    )
    private = {
        kept: session.private_pins[kept] for kept in (*pinned, *struck) if kept in session.private_pins
    }
    label = _label_of_lock(snapshot, lock)
    if mark is not LockMark.PLAIN and not label.is_everyone:
        private[lock] = label
    session = replace(
        session,
        private_pins=private,
        pinned=(*pinned, lock) if mark is LockMark.PINNED else pinned,
        struck=(*struck, lock) if mark is LockMark.STRUCK else struck,
    )
    length = sum(map(len, (*session.pinned, *session.struck)))
    if length > LONGEST_CORRECTIONS:
        raise LimitExceededError("pinned and struck canon", length, LONGEST_CORRECTIONS)
    return Changes(session_id=session.id, session=session)


def _label_of_lock(snapshot: Snapshot, lock: str) -> Audience:
    """Return who may know a canon lock; of one that no block has any more, who might when it was marked."""
    if any(has_lock(block, lock) for block in snapshot.blocks):
        return audience_of_lock(lock, snapshot.blocks)
    before = snapshot.session.private_pins.items()
    return next((label for one, label in before if lock_key(one) == lock_key(lock)), EVERYONE)


def edit_block(
    snapshot: Snapshot, last: int, text: str, now: datetime, *, ordinal: int = 0, read: BlockId | None = None
) -> Changes:
    """Store the GM's own revision of the delta that ends with prompt `last`; `text` is its JSON.

    With `ordinal` it is one of the private deltas there. `read` is the revision that the GM had: where
    another one counts by now, nothing is changed.

    A call that failed to make this memory again is given up: its retry would replace the GM's revision. The
    engine's truth (type, range, slots) replaces what the text says of it. Raises IllegalCommandError with
    every problem when the text is not a delta.
    """
    text = clean(text)
    require_object(text)
    session = move(snapshot, snapshot.session, Command.EDIT_BLOCK, now)
    before = delta_ending(snapshot, last, ordinal)
    if read not in (None, before.id):
        raise IllegalCommandError(ANOTHER_REVISION)
    prompts = PromptRange(before.first, before.last)
    try:
        made = context_summary.parse(text, session, prompts, len(text), PromptStyle.FULL)
    except InvalidMemoryError as invalid:
        raise IllegalCommandError(f"That is not valid memory. {' '.join(invalid.plain)}") from invalid
    if made.too_long:
        raise IllegalCommandError(f"That memory is too long: {'; '.join(made.too_long)}.")
    session = replace(session, canon_version=session.canon_version + 1)
    block = replace(
        before,
        id=BlockId(new_uuid()),
        payload=made.payload,
        json_text=made.json_text,
        revision=session.canon_version + 1,
        made_from=_before(snapshot, before),
        is_by_gm=True,
        created_at=now,
    )
    failed = (one for one in snapshot.failed(SummaryRequest) if one.prompts == prompts)
    requests = tuple(given_up(one, now) for one in failed)
    return Changes(session_id=session.id, session=session, blocks=(block,), requests=requests)


def _before(snapshot: Snapshot, block: MemoryBlock) -> BlockId | None:
    """Return the block before another one in memory."""
    at = snapshot.blocks.index(block)
    return snapshot.blocks[at - 1].id if at else None


def delta_ending(snapshot: Snapshot, last: int, ordinal: int = 0) -> MemoryBlock:
    """Return the delta that ends with prompt `last`; raise IllegalCommandError without one."""
    for block in snapshot.blocks:
        if block.type is BlockType.TURN_DELTA and block.place == (last, ordinal):
            return block
    raise IllegalCommandError(f"No memory ends with prompt {last:,}; choose an existing block.")
