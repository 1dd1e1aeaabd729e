"""The GM's word on canon locks: pinned ones are in every input with memory, struck ones in none (design 12).

They are facts of the session, not of a block, so they survive every revision of memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from uuid import uuid5

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.ids import BlockId
from core.domain.session.session import Session
from core.domain.story.memory import MemoryBlock, compact_json, lock_key

_KEY = "canon_locks"


def with_gm_locks(
    session: Session, blocks: Sequence[MemoryBlock], audience: Audience = NOBODY
) -> tuple[MemoryBlock, ...]:
    """Return memory as the GM wants its canon locks; the same blocks where nothing is pinned or struck.

    Pinned locks that someone of `audience` may not know are left out. A pinned lock that no block has follows
    those of the first block, which no budget shortens. A changed block has an id of its own, because digests
    are remembered by ids.
    """
    if not blocks or not (session.pinned or session.struck):
        return tuple(blocks)
    struck = set(map(lock_key, session.struck))
    kept = [[lock for lock in _locks_of(block) if lock_key(lock) not in struck] for block in blocks]
    known = {lock_key(lock) for locks in kept for lock in locks}
    kept[0] += [
        lock
        for lock in session.pinned
        if lock_key(lock) not in known and session.private_pins.get(lock, EVERYONE).includes(audience)
    ]
    return tuple(_with_locks(block, locks) for block, locks in zip(blocks, kept, strict=True))


def has_lock(block: MemoryBlock, lock: str) -> bool:
    """Whether a block has a canon lock, whatever its white space and case."""
    return lock_key(lock) in map(lock_key, _locks_of(block))


def audience_of_lock(lock: str, blocks: Sequence[MemoryBlock]) -> Audience:
    """Return who may know a canon lock: those who may know a block that has it; everyone if none has."""
    audiences = [block.audience for block in blocks if has_lock(block, lock)]
    return reduce(or_, audiences) if audiences else EVERYONE


def _with_locks(block: MemoryBlock, locks: list[str]) -> MemoryBlock:
    if locks == _locks_of(block):
        return block
    made = BlockId(uuid5(block.id, compact_json(locks)))
    return replace(block, id=made, payload={**block.payload, _KEY: locks}, json_text="")


def _locks_of(block: MemoryBlock) -> list[str]:
    locks = block.payload.get(_KEY)
    return [lock for lock in locks if isinstance(lock, str)] if isinstance(locks, list | tuple) else []
