"""Picks the next request of the play, and says when a failed summary is due again (design 6)."""

from dataclasses import replace
from datetime import datetime

from core.domain.requests.request import ReplyRequest, Request, SummaryRequest
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.engine.changes.moves import is_rebuilt, retry_time
from core.engine.scene.commands import begun
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


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

    Prompts wait for a summary, for further replies to the prompt before them, and for a failed prompt before
    them, because they may depend on its reply. A request that is stored as processing has not been run yet:
    the worker settles one before it takes the next.
    """
    is_held_up = bool(snapshot.failed(ReplyRequest))
    further = snapshot.further_reply
    candidates = [
        request
        for request in snapshot.open_requests
        if snapshot.session.state in request.spec.runs_in
        and not (is_held_up and isinstance(request, ReplyRequest))
        and (further is None or request is further or not isinstance(request, ReplyRequest))
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
