"""The GM's changes to the queue of a chapter, as pure functions from a snapshot to changes (design 17)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId, new_uuid
from core.domain.requests.request import BackgroundRequest, ReplyRequest, Request, SummaryRequest
from core.domain.requests.request_kinds import BAND
from core.engine.changes.moves import given_up, with_all_tries
from core.engine.decisions import commands, tab1_commands
from core.engine.decisions.commands import find_request
from core.engine.kinds.registry import handler_of
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import is_blank

WITH_THE_MODEL = "A model works on that call; stop it first."
WITH_NO_MODEL = "No model works on that call; drop it instead."
PART_OF_THE_STORY = "A summary is part of the story and cannot be dropped; retry it."
NOT_FAILED = "That call has not failed; there is nothing to retry."
OPEN_IT = "Open the chapter on the screen and press Ctrl+R there to try that again; nothing was changed."


def drop(snapshot: Snapshot, request_id: RequestId, now: datetime) -> Changes:
    """Give up a request that waits or has failed; the text of a prompt is in its composer."""
    request = find_request(snapshot, request_id)
    if request.is_processing:
        raise IllegalCommandError(WITH_THE_MODEL)
    match request:
        case ReplyRequest():
            return commands.withdraw(snapshot, request_id, now)
        case SummaryRequest():
            raise IllegalCommandError(PART_OF_THE_STORY)
        case _ if request.has_failed or request.spec.is_background:
            return Changes(session_id=request.session_id, requests=(given_up(request, now),))
        case _:
            raise IllegalCommandError("That call is about to begin; stop it instead.")


def retry_closed(snapshot: Snapshot, request_id: RequestId, now: datetime) -> Changes:
    """Queue a request again in a chapter that no window has open; it runs when the chapter is opened."""
    request = find_request(snapshot, request_id)
    if not isinstance(request, BackgroundRequest):
        raise IllegalCommandError(OPEN_IT)
    if request.is_processing:
        raise IllegalCommandError(WITH_THE_MODEL)
    return Changes(session_id=request.session_id, requests=(with_all_tries(request, now),))


def move_up(snapshot: Snapshot, request_id: RequestId, now: datetime) -> Changes:
    """Let a request that waits go before the one that is before it now, of the same level and sort."""
    request = find_request(snapshot, request_id)
    waiting = _beside(snapshot, request)
    place = next((at for at, one in enumerate(waiting) if one.id == request_id), 0)
    if place == 0:
        raise IllegalCommandError("Nothing that waits in this chapter is before that call.")
    waiting[place - 1 : place + 1] = waiting[place], waiting[place - 1]
    return Changes(session_id=request.session_id, requests=_in_order(waiting, waiting, now))


def edit(snapshot: Snapshot, request_id: RequestId, text: str, now: datetime) -> Changes:
    """Replace the text of a prompt that waits: a new request has its place, and the old one is given up."""
    request = find_request(snapshot, request_id)
    if not isinstance(request, ReplyRequest) or request.prompts is not None:
        raise IllegalCommandError("Only a prompt that waits can be edited.")
    if request.is_processing:
        raise IllegalCommandError(WITH_THE_MODEL)
    if request.has_failed:
        raise IllegalCommandError("That prompt has failed; edit its text in its composer.")
    text = tab1_commands.within("prompt", text, snapshot.session.limits.prompt).strip()
    if is_blank(text):
        raise IllegalCommandError("There is no text left; drop the prompt instead.")
    fresh = replace(request, id=RequestId(new_uuid()), text=text, created_at=now, updated_at=now)
    before = _beside(snapshot, request)
    waiting = [fresh if one.id == request_id else one for one in before]
    requests = (given_up(request, now), *_in_order(waiting, before, now))
    return Changes(session_id=request.session_id, requests=requests)


def recall(snapshot: Snapshot, now: datetime) -> tuple[Changes, tuple[ReplyRequest, ...]]:
    """Take all waiting prompts back into their composers; the second value are the prompts, in order."""
    waiting = [one for one in snapshot.open_prompts if not one.is_processing]
    requests: list[Request] = []
    changed = snapshot
    for request in reversed(waiting):  # the newest first, so that the texts are in the order of play
        taken = Changes(
            session_id=request.session_id,
            requests=(given_up(request, now),),
            unsent=handler_of(request).returned(changed, request),
        )
        requests += taken.requests
        changed = changed.after(taken)
    unsent = {slot: text for slot, text in changed.unsent.items() if snapshot.unsent.get(slot) != text}
    changes = Changes(session_id=snapshot.session.id, requests=tuple(requests), unsent=unsent)
    return changes, tuple(waiting)


def clear_background(snapshot: Snapshot, now: datetime) -> Changes:
    """Give up all work beside the play that waits, has failed or is dead; what a model has goes on."""
    waiting = (one for one in snapshot.requests if one.spec.is_background and not one.is_processing)
    return Changes(
        session_id=snapshot.session.id, requests=tuple(given_up(request, now) for request in waiting)
    )


def _beside(snapshot: Snapshot, request: Request) -> list[Request]:
    """Return what waits of the same sort and level, in the order of taking."""
    waiting = [
        one
        for one in snapshot.requests
        if one.state.is_open
        and not one.is_processing
        and one.spec.is_background == request.spec.is_background
        and one.level == request.level
    ]
    return sorted(waiting, key=lambda one: one.order)


def _in_order(wanted: Sequence[Request], before: Sequence[Request], now: datetime) -> tuple[Request, ...]:
    """Return the requests whose number has to change, or that are new, for this order of taking.

    Raises IllegalCommandError when the level has no numbers left.
    """
    number = min(request.priority for request in wanted)
    last = (number // BAND + 1) * BAND - 1
    known = {request.id: request for request in before}
    moved: list[Request] = []
    previous: Request | None = None
    for request in wanted:
        if previous is not None and request.id < previous.id:
            number += 1
        placed = replace(request, priority=number)
        if known.get(placed.id) != placed:
            moved.append(replace(placed, updated_at=now))
        previous = request
    if number > last:
        raise IllegalCommandError("The order of this queue cannot be changed any more; let some of it run.")
    return tuple(moved)
