"""Characters that are away from a chapter because they are paused in the library (design 14)."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from core.domain.errors import IllegalCommandError
from core.domain.ids import CharacterId
from core.domain.session.session import PAUSED, Session, Tab1Inputs
from core.domain.slot import Slot
from core.storage.library_store import LibraryStore
from core.storage.snapshot import Snapshot


async def paused_in_library(
    library: LibraryStore, snapshot: Snapshot, now: datetime
) -> frozenset[CharacterId]:
    """Return those characters that the chapter took which are paused now; asks only if it took any."""
    taken = {profile.character_id for profile in snapshot.tab1.profiles.values()} - {None}
    kept = await library.characters() if taken else ()
    return frozenset(one.id for one in kept if one.id in taken and one.is_paused_at(now))


def slots_of(tab1: Tab1Inputs, characters: Collection[CharacterId]) -> frozenset[Slot]:
    """Return the slots that have copies of these characters."""
    return frozenset(slot for slot, profile in tab1.profiles.items() if profile.character_id in characters)


def paused_slots(session: Session) -> frozenset[Slot]:
    """Return the slots that are away because of a pause."""
    return frozenset(slot for slot, back_at in session.away.items() if back_at == PAUSED)


def with_paused(session: Session, tab1: Tab1Inputs, paused: Collection[CharacterId]) -> Session:
    """Return a session that is being locked, in which exactly the paused characters are away for a pause.

    Raises IllegalCommandError where no character would be left.
    """
    gone = slots_of(tab1, paused) & frozenset(session.slots)
    kept = {slot: back_at for slot, back_at in session.away.items() if back_at != PAUSED}
    away = {**kept, **dict.fromkeys(sorted(gone), PAUSED)}
    if away == session.away:
        return session
    session = replace(session, away=away)
    if all(map(session.is_away, session.slots)):
        raise IllegalCommandError(
            "All characters of this chapter are paused in the library; resume one there first (F5, then 3)."
        )
    return session
