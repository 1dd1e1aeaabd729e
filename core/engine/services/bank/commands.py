"""The GM's commands about the memory bank of a chapter and its language, as pure functions (design 15)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.domain.session.language import Language
from core.domain.session.state_machine import Command
from core.domain.story.event import Event
from core.engine.changes.moves import given_up, move
from core.engine.kinds.bank.requests import Named, extractions, is_extraction, named_by
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


def keep_bank(
    snapshot: Snapshot, now: datetime, *, is_on: bool, events: Sequence[Event] = (), read: Named = ()
) -> Changes:
    """Store whether the chapter keeps a memory bank from here on.

    On activation, all memory that was not read before is read, oldest first; `snapshot` must have its memory
    and `events` canon then. On deactivation, waiting extractions are dropped; extracted items stay, and are
    recalled again once the bank is switched on.
    """
    session = move(snapshot, snapshot.session, Command.KEEP_BANK, now)
    if session.keeps_bank is is_on:
        return Changes(session_id=session.id)
    if is_on and not snapshot.is_memory_known:
        raise ValueError("the memory must be known, as its blocks say what is to be read")
    if is_on:
        known = {*read, *named_by(snapshot.requests)}
        requests = tuple(extractions(session.id, snapshot.blocks, events, now, known))
    else:
        waiting = (one for one in snapshot.requests if is_extraction(one) and not one.is_processing)
        requests = tuple(given_up(one, now) for one in waiting)
    return Changes(session_id=session.id, session=replace(session, keeps_bank=is_on), requests=requests)


def set_language(snapshot: Snapshot, language: Language, now: datetime) -> Changes:
    """Store the language of the story. The words of all items are made again with it."""
    session = move(snapshot, snapshot.session, Command.SET_LANGUAGE, now)
    if session.language is language:
        return Changes(session_id=session.id)
    return Changes(session_id=session.id, session=replace(session, language=language))
