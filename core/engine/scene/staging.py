"""The GM's commands about characters that leave the scene or may be silent, as pure functions (design 17)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from core.agents.context_builder import ContextBuilder
from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError
from core.domain.ids import CharacterId
from core.domain.session.session import LATEST_RETURN, MOST_HINT_PROMPTS, Session
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.changes.absences import paused_slots, slots_of
from core.engine.changes.moves import move
from core.engine.decisions.commands import require_cast
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


def set_away(snapshot: Snapshot, away: Mapping[Slot, int], now: datetime) -> Changes:
    """Store who is away from the next prompt on, each with the prompt of the return; 0 is open.

    Everyone else is back, in the scene if they were present.
    """
    session = move(snapshot, snapshot.session, Command.SET_PRESENT, now)
    following = session.prompt_index + 1
    for slot, back_at in away.items():
        require_cast(session, slot)
        if back_at and not following < back_at <= LATEST_RETURN and session.away.get(slot) != back_at:
            raise IllegalCommandError(
                f"The next prompt is {following:,}; choose a later one, up to {LATEST_RETURN:,}, "
                f"at which {session.name_of(slot)} is back."
            )
    session = replace(session, away=dict(sorted(away.items())))
    if all(map(session.is_away, session.slots)):
        raise IllegalCommandError("Someone has to stay in the scene; bring another character back first.")
    if session.is_away(session.next_slot):
        session = replace(session, next_slot=session.speaker_after(session.next_slot))
    return Changes(session_id=session.id, session=session)


def send_away(snapshot: Snapshot, slot: Slot, back_at: int, now: datetime) -> Changes:
    """Let a character leave the scene until a prompt, or with 0 until the GM brings it back."""
    return set_away(snapshot, {**_absent(snapshot.session), slot: back_at}, now)


def end_pauses(snapshot: Snapshot, paused: Collection[CharacterId], now: datetime) -> Changes | None:
    """Bring back those that were away because of a pause in the library which is over.

    None where there is none.
    """
    session = snapshot.session
    over = paused_slots(session) - slots_of(snapshot.tab1, paused)
    if not over:
        return None
    return set_away(snapshot, {k: v for k, v in _absent(session).items() if k not in over}, now)


def bring_back(snapshot: Snapshot, slot: Slot, now: datetime) -> Changes:
    """End the absence of a character; it is in the scene again."""
    session = snapshot.session
    if not session.is_away(slot):
        raise IllegalCommandError(f"{session.name_of(slot)} is not away; there is nothing to change.")
    away = {other: back_at for other, back_at in _absent(session).items() if other is not slot}
    changes = set_away(snapshot, away, now)
    back = changes.session or session
    present = back.audience_of((*back.present, slot))
    return replace(changes, session=replace(back, present=present))


def set_silence(snapshot: Snapshot, builder: ContextBuilder, slots: Iterable[Slot], now: datetime) -> Changes:
    """Store which characters may act without words or say nothing."""
    session = move(snapshot, snapshot.session, Command.DIRECT_CAST, now)
    before, session = session, replace(session, may_be_silent=audience_in(session, slots))
    if not before.may_be_silent.includes(session.may_be_silent):
        builder.for_chapter(snapshot.prompt_blocks, snapshot.tab1.profiles).require_room(
            session, snapshot.tab1
        )
    return Changes(session_id=session.id, session=session)


def set_hint(snapshot: Snapshot, prompts: int, now: datetime) -> Changes:
    """Store after how many prompts a silent character is pointed out; 0 for never."""
    session = move(snapshot, snapshot.session, Command.DIRECT_CAST, now)
    if not 0 <= prompts <= MOST_HINT_PROMPTS:
        raise IllegalCommandError(f"Choose 1 to {MOST_HINT_PROMPTS:,} prompts, or 0 to end the hints.")
    return Changes(session_id=session.id, session=replace(session, hint_after=prompts))


def with_present(session: Session, slots: Iterable[Slot]) -> Session:
    """Return the session with these in the scene: those of them that were away are back.

    Others that are away keep their place for their return.
    """
    named = frozenset(slots)
    away = {slot: back_at for slot, back_at in _absent(session).items() if slot not in named}
    kept = [slot for slot in away if slot in session.present]
    present = session.audience_of((*named, *kept)) if kept else session.audience_of(named)
    return replace(session, present=present, away=away)


def _absent(session: Session) -> dict[Slot, int]:
    """Return who is away now; absences that have ended are left out."""
    return {slot: back_at for slot, back_at in session.away.items() if session.is_away(slot)}


def audience_in(session: Session, slots: Iterable[Slot]) -> Audience:
    """Return these characters of a session as an audience; raise IllegalCommandError for others."""
    audience = Audience.of(slots)
    if not audience.is_everyone:
        for slot in audience:
            require_cast(session, slot)
    return session.audience_of(audience)
