"""Copies readings of the bank into a branch, or a chapter begun at a save point (design 12 and 15)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.domain.bank.item import Item
from core.domain.requests.request import BackgroundRequest
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.engine.kinds.bank.requests import extractions, mark_in, named_by, sorted_by_prompt
from core.exchange.session_export import SessionBody
from core.storage.bank_store import BankStore


async def bank_of(bank: BankStore, session: Session) -> tuple[Sequence[BackgroundRequest], Sequence[Item]]:
    """Return the readings of a chapter that are done, and every version of its items. Raises StorageError.

    While the bank is kept, the readings are asked for first: one that ends between the two is done again in a
    copy, where the items that are there already are not drawn twice.
    """
    readings = await bank.readings(session.id) if session.keeps_bank else ()
    history = await bank.history(session.id)
    if history and not session.keeps_bank:
        readings = await bank.readings(session.id)
    return readings, history


def with_readings(
    body: SessionBody, events: Sequence[Event], readings: Sequence[BackgroundRequest], now: datetime
) -> SessionBody:
    """Return a copy of a chapter with the readings of its canon, and requests for its unread parts.

    `events` are those of the copy with the takes that they have in the chapter it is made of. Where no bank
    is kept nothing is asked for.
    """
    before, copied = sorted_by_prompt(events), sorted_by_prompt(body.events)
    last = max((event.prompt_index for event in body.events), default=0)
    read = tuple(
        replace(one, text=mark_in(copied, one.audience, one.prompts))
        for one in readings
        # A part that goes on after the copy's last prompt is read when the copy has played so far.
        if one.prompts is not None and one.prompts.last <= last
        if one.text == mark_in(before, one.audience, one.prompts) != ""
    )
    if not body.session.keeps_bank:
        return replace(body, requests=read)
    waiting = extractions(body.session.id, body.blocks, body.events, now, named_by(read))
    return replace(body, requests=(*read, *waiting))
