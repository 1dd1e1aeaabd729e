"""What is said when the GM quits while something runs: what is stopped, and what is kept (promise 1)."""

from typing import TYPE_CHECKING

from core.domain.request import Request, RequestKind, RequestState

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle
    from core.store import Snapshot

STORING = "Storing and closing …"


def stopped_by_leaving(session: "SessionHandle") -> str:
    """Return what becomes of the calls that run or wait here, in a sentence each; nothing when none does."""
    snapshot = session.snapshot
    if session.is_read_only:
        return ""
    running = [request for request in snapshot.requests if request.state is RequestState.PROCESSING]
    waiting = [
        request
        for request in snapshot.requests
        if request.kind is RequestKind.REPLY and request.state is RequestState.PENDING
    ]
    sentences = [_stopped(snapshot, request) for request in running]
    if waiting:
        what = "The prompt that waits goes" if len(waiting) == 1 else f"{len(waiting)} waiting prompts go"
        sentences.append(f"{what} back unsent; the text is kept.")
    return " ".join(sentences)


def _stopped(snapshot: "Snapshot", request: Request) -> str:
    match request.kind:
        case RequestKind.REPLY:
            name = snapshot.session.name_of(request.slot) if request.slot else "the character"
            return f"The reply of {name} is stopped; your prompt is kept in its panel."
        case RequestKind.SUMMARY:
            return "The summary is stopped; all prompts are kept, and it is made with the next one."
        case RequestKind.NARRATIVE:
            return "The writing of the chapter is stopped; the finished parts are kept for Retry."
        case RequestKind.LOCK:
            return "The lock is stopped; world, chapter and cast are kept as you wrote them."
        case RequestKind.TEST:
            raise ValueError("a snapshot has no test call")
