"""Sentences about the calls that leaving a chapter stops, and about the text that stays."""

from typing import TYPE_CHECKING

from core.domain.requests.request import ReplyRequest, Request, SummaryRequest
from core.engine.changes.moves import is_rebuilt

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle
    from core.storage.snapshot import Snapshot


def stopped_by_leaving(session: "SessionHandle") -> str:
    """Return what leaving does to each call that runs or waits here; empty when there is no call."""
    snapshot = session.snapshot
    if session.is_read_only:
        return ""
    running = [request for request in snapshot.open_requests if request.is_processing]
    waiting = [request for request in snapshot.open_prompts if not request.is_processing]
    sentences = [_stopped(snapshot, request) for request in running]
    if waiting:
        what = "The prompt that waits goes" if len(waiting) == 1 else f"{len(waiting)} waiting prompts go"
        sentences.append(f"{what} back unsent; the text is kept.")
    return " ".join(sentences)


def _stopped(snapshot: "Snapshot", request: Request) -> str:
    if isinstance(request, SummaryRequest) and is_rebuilt(snapshot.session, request):
        return f"Memory of {request.prompts.named} is not made again; the revision before counts as it did."
    name = snapshot.session.name_of(request.slot) if isinstance(request, ReplyRequest) else ""
    return request.spec.when_stopped.format(name=name)
