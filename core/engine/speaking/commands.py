"""The GM's commands about characters that add something unasked, as pure functions (design 17)."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from core.changes import Changes
from core.domain.audience import Audience
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.changes.moves import move
from core.engine.decisions.commands import require_cast
from core.snapshot import Snapshot


def let_add(snapshot: Snapshot, slots: Iterable[Slot], now: datetime, *, is_on: bool) -> Changes:
    """Store which characters may add something unasked, and whether any does in this chapter."""
    session = move(snapshot, snapshot.session, Command.LET_ADD, now)
    may_add = Audience.of(slots)
    for slot in may_add:
        require_cast(session, slot)
    return Changes(session_id=session.id, session=replace(session, may_add=may_add, adds_unasked=is_on))
