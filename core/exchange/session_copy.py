"""A session as the rows of a new one: of an import, of a branch, of a save point."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from core.domain.bank.details import Details, QuoteDetails
from core.domain.bank.item import Item, ItemOrigin
from core.domain.errors import ErrorCode
from core.domain.ids import ItemId, SessionId
from core.domain.requests.request import (
    Artifact,
    BackgroundRequest,
    ReplyRequest,
    Request,
    RequestState,
    SummaryRequest,
)
from core.domain.session.profile import without_models
from core.domain.session.session import Session, Tab1Inputs
from core.domain.story.condensed import CondensedMemory
from core.domain.story.context_status import Statuses, of_canon
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.reply_uses import accesses_in
from core.domain.story.secret import Secret
from core.exchange.session_export import SessionBody
from core.storage.changes import Changes
from core.storage.snapshot import is_kept_in_snapshot

PUT_ASIDE: Final = "It was not done when this copy of the chapter was made; retry it if you still want it."
_CHOOSING: Final = ReplyRequest | SummaryRequest | BackgroundRequest
T = TypeVar("T", Event, MemoryBlock, CondensedMemory, NarrativeDraft, Request, Artifact, Item)


def beginning_of(
    session: Session,
    tab1: Tab1Inputs,
    secrets: tuple[Secret, ...],
    events: Sequence[Event],
    blocks: Sequence[MemoryBlock],
    statuses: Statuses,
    *,
    items: Sequence[Item] = (),
    until: datetime | None = None,
) -> SessionBody:
    """Return a session that begins with this canon: one take of each prompt, one revision of each block.

    Of `statuses` it has those of these events. `items` has every version of the memory bank; the session
    begins with those of that time, and they were recalled as often as these events say.
    """
    takes = {event.prompt_index: event.take for event in events}
    return SessionBody(
        session=replace(session, canon_version=0),
        tab1=tab1,
        secrets=secrets,
        events=tuple(replace(event, take=1) for event in events),
        statuses=of_canon(statuses, events),
        blocks=tuple(replace(block, revision=1, made_from=None) for block in blocks),
        items=bank_at(items, takes, session.prompt_index, until),
        accesses=accesses_in(events),
    )


def as_new_session(body: SessionBody, session_id: SessionId, *, begins_work: bool = False) -> Changes:
    """Return the changes that store `body` under a new id, not archived and without its chapter script.

    Background work that is open in it, or goes on once it is opened, has failed in the copy, so that opening
    it calls no model; with `begins_work` it waits for its turn.
    """
    requests = body.requests if begins_work else tuple(map(_put_aside, body.requests))
    return Changes(
        session_id=session_id,
        session=replace(body.session, id=session_id, script_key="", archived_at=None),
        tab1=body.tab1,
        prompt_blocks=body.prompt_blocks or None,
        secrets=body.secrets or None,
        lore=body.lore or None,
        unsent=body.unsent,
        events=_moved(body.events, session_id),
        statuses=body.statuses,
        # Without any where all were undone for good.
        takes=dict(enumerate(body.takes, start=1)) if body.session.canon_version else None,
        blocks=_moved(body.blocks, session_id),
        revisions=_moved(body.revisions, session_id),
        condensed=_moved(body.condensed, session_id),
        drafts=_moved(body.drafts, session_id),
        requests=_moved(requests, session_id),
        artifacts=_moved(body.artifacts, session_id),
        contents=body.contents,
        items=_moved(body.items, session_id),
        accesses=body.accesses,
    )


def choosing_no_models(body: SessionBody) -> SessionBody:
    """Return a chapter that another wrote without the models that its characters and open calls ask for."""
    requests = tuple(
        replace(one, model="") if isinstance(one, _CHOOSING) and is_kept_in_snapshot(one) else one
        for one in body.requests
    )
    tab1 = replace(body.tab1, profiles=without_models(body.tab1.profiles))
    return replace(body, tab1=tab1, requests=requests)


def _put_aside(request: Request) -> Request:
    """Return background work that is open, or would be taken up again, as stopped."""
    goes_on = request.state.is_open or request.has_another_round or request.waits_for_money
    if not (request.spec.is_background and goes_on):
        return request
    return replace(
        request,
        state=RequestState.FAILED,
        retry_after=None,
        error_code=ErrorCode.LLM_CANCELLED,
        error_message=PUT_ASIDE,
    )


def _moved(things: Sequence[T], session_id: SessionId) -> tuple[T, ...]:
    return tuple(replace(thing, session_id=session_id) for thing in things)


def bank_at(
    history: Iterable[Item], takes: Mapping[int, int], last: int, until: datetime | None = None
) -> tuple[Item, ...]:
    """Return the items of canon up to prompt `last`, as they were at a time, or are now.

    `history` has every version of them, and `takes` the take that is canon at each prompt. The copy has one
    take of each prompt and one version of each item; what the GM rejected or merged stays so, as does what an
    item replaces of an earlier chapter.
    """
    newest: dict[ItemId, Item] = {}
    for version in history:
        known = newest.get(version.id)
        is_newer = known is None or version.version > known.version
        if is_newer and (until is None or version.updated_at <= until):
            newest[version.id] = version
    copied = {one.id: one for item in newest.values() if (one := _copied(item, takes, last)) is not None}
    left = newest.keys() - copied.keys()
    return tuple(
        replace(
            item,
            supersedes=None if item.supersedes in left else item.supersedes,
            merged_into=item.merged_into if item.merged_into in copied else None,
            details=_within(item.details, copied),
        )
        for item in copied.values()
    )


def _within(details: Details, copied: Collection[ItemId]) -> Details:
    """Return details that name only items that the copy has."""
    if not isinstance(details, QuoteDetails):
        return details
    return replace(details, data_item_ids=tuple(one for one in details.data_item_ids if one in copied))


def _copied(item: Item, takes: Mapping[int, int], last: int) -> Item | None:
    """Return an item as the copy has it; None where what it was drawn from is not part of the copy."""
    if item.prompt_index > last or (item.take is not None and takes.get(item.prompt_index) != item.take):
        return None
    evidence = tuple(replace(one, take=1) for one in item.evidence if takes.get(one.prompt_index) == one.take)
    if not evidence and item.origin is ItemOrigin.EXTRACTED:
        return None
    take = None if item.take is None else 1
    return replace(item, version=1, undoes=None, take=take, evidence=evidence)
