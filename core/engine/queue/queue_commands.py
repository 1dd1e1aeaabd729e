"""Changes to the queue of a chapter, and the next request of the play, as pure functions (design 6, 17)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.requests.request import BackgroundRequest, ReplyRequest, Request, SummaryRequest
from core.domain.requests.request_kinds import BAND, KIND_SPECS, RequestKind
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.engine.changes.moves import given_up, is_rebuilt, new_work, retry_time, with_all_tries
from core.engine.decisions import commands, tab1_commands
from core.engine.decisions.commands import find_request
from core.engine.kinds.bank.embedding import OF_TEXTS
from core.engine.kinds.registry import handler_of
from core.engine.scene.scene_commands import begun
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import is_blank

WITH_THE_MODEL = "A model works on that call; stop it first."
WITH_NO_MODEL = "No model works on that call; drop it instead."
PART_OF_THE_STORY = "A summary is part of the story and cannot be dropped; retry it."
NOT_FAILED = "That call has not failed; there is nothing to retry."
OPEN_IT = "Open the chapter on the screen and press Ctrl+R there to try that again; nothing was changed."


def may_stop(request: Request) -> bool:
    """Whether a request can be stopped: a model has it, or it is about to begin and cannot be dropped."""
    is_about_to = not (isinstance(request, ReplyRequest) or request.spec.is_background)
    return request.is_processing or (request.state.is_open and is_about_to)


def waits_beside(request: Request) -> bool:
    """Whether a request is work beside the play that no model has: it waits, has failed or is dead."""
    return request.spec.is_background and not request.is_processing


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
    return queued_again(snapshot, request, now)


def queued_again(snapshot: Snapshot, request: BackgroundRequest, now: datetime) -> Changes:
    """Queue work beside the play again, with all of its tries; of one work all that was refused.

    Now one part of it is refused and the others wait. Earlier programs had each part refused by itself.
    """
    refused = [one for one in snapshot.failed(BackgroundRequest) if one.holds_up and one.kind is request.kind]
    again = refused if request.holds_up else [request]
    return Changes(session_id=request.session_id, requests=tuple(with_all_tries(one, now) for one in again))


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
    waiting = filter(waits_beside, snapshot.requests)
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


def vectors_due(
    snapshot: Snapshot, now: datetime, *, of_texts: bool = False
) -> tuple[BackgroundRequest, ...]:
    """Return the request for vectors after items were stored or changed, or for those of texts too.

    None where no bank is kept, and where one waits, runs, or needs the GM: that one makes all of them. One
    whose tries an outage used up begins again.
    """
    spec = KIND_SPECS[RequestKind.EMBEDDING]
    requests = (one for one in snapshot.requests if isinstance(one, BackgroundRequest))
    there = [one for one in requests if one.kind is RequestKind.EMBEDDING]
    there = [one for one in there if one.text == OF_TEXTS or not of_texts]
    is_possible = snapshot.session.keeps_bank and snapshot.session.state in spec.runs_in
    if not is_possible or not all(one.has_another_round for one in there):
        return ()
    if there:
        return tuple(with_all_tries(one, now) for one in there)
    return (replace(request_for_vectors(snapshot.session.id, now), text=OF_TEXTS if of_texts else ""),)


def request_for_vectors(session_id: SessionId, now: datetime) -> BackgroundRequest:
    """Return a request for vectors; one that stands for a search of the GM is never stored."""
    return BackgroundRequest(**new_work(RequestKind.EMBEDDING, session_id, now))


def begun_with(snapshot: Snapshot, made: Changes, now: datetime) -> Changes:
    """Return `made` with the request that it stores begun, if nothing else comes before that."""
    after = snapshot.after(made)
    first = next_request(after)
    if first is None or first not in made.requests:
        return made
    begins = begun(after, first, now)
    return replace(
        made,
        events=(*made.events, *begins.events),
        canon_end=made.canon_end if begins.canon_end is None else begins.canon_end,
        requests=(*(request for request in made.requests if request != first), *begins.requests),
    )


def next_request(snapshot: Snapshot) -> Request | None:
    """Return the next open request that can run in the current state.

    Prompts wait for a summary, for further replies to the prompt before them or another take of it, and for a
    failed prompt before them, because they may depend on its reply. A request that is stored as processing
    has not been run yet: the worker settles one before it takes the next.
    """
    is_held_up = bool(snapshot.failed(ReplyRequest))
    of_newest = next((one for one in snapshot.open_prompts if one.prompts is not None), None)
    candidates = [
        request
        for request in snapshot.open_requests
        if snapshot.session.state in request.spec.runs_in
        and not (is_held_up and isinstance(request, ReplyRequest))
        and (of_newest in (None, request) or not isinstance(request, ReplyRequest))
    ]
    # One that was moved down before it began has a higher number than a new prompt.
    return min(candidates, key=lambda request: (not request.is_processing, request.order), default=None)


def next_retry(snapshot: Snapshot, now: datetime) -> datetime | None:
    """Return when a failed summary is retried automatically; only while the chapter is played."""
    if snapshot.session.state is not SessionState.ACTIVE:
        return None
    times = [
        due
        for request in snapshot.failed(SummaryRequest)
        if (due := retry_time(request, now)) is not None and _may_follow(snapshot.session, request)
    ]
    return min(times, default=None)


def _may_follow(session: Session, request: SummaryRequest) -> bool:
    """Whether a summary is of the prompts after the boundary, or of a block that is built again.

    The end of the chapter, once it is wanted, goes before the latter, which would call it off.
    """
    if is_rebuilt(session, request):
        return not session.is_ending
    return request.prompts.first == session.boundary + 1
