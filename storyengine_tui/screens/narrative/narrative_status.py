"""What tab 3 says about a session: pure, from its snapshot to words (design 5 and 10)."""

from core.domain.errors import ErrorCode
from core.domain.request import NarrativeRequest, Request
from core.domain.session import SessionState
from core.store import Snapshot

_NOT_YET = {
    SessionState.DRAFT_TAB1: (
        "Nothing to write yet: lock world and cast on 1 World (F2), play on 2 Play (F3), then end it there."
    ),
    SessionState.LOCKING: "World and cast are being locked; then comes the play, on 2 Play (F3).",
    SessionState.ACTIVE: "The chapter is still being played: End Chapter on 2 Play (F3) comes first.",
    SessionState.SUMMARIZING: "A summary is being made. When it is done, End Chapter on 2 Play (F3).",
    SessionState.NARRATING: "The chapter is being written; Esc cancels.",
    SessionState.RESETTING: "The chapter has been reset.",
}
NOTHING_PLAYED = "No prompt was played in this chapter, so there is nothing to write."
READ_ONLY = "Read-only here; the window that writes in this chapter can build it."


def why_no_build(snapshot: Snapshot, *, is_read_only: bool) -> str:
    """Return why the narrative cannot be built now; empty when it can."""
    session = snapshot.session
    if session.state is SessionState.SUMMARIZING and session.is_ending:
        return "The chapter is being ended: after the last summary it can be written."
    if session.state in _NOT_YET:
        return _NOT_YET[session.state]
    if is_read_only:
        return READ_ONLY
    return "" if session.prompt_index else NOTHING_PLAYED


def open_narrative(snapshot: Snapshot) -> Request | None:
    """Return the build that waits or runs."""
    return next((one for one in snapshot.open_requests if isinstance(one, NarrativeRequest)), None)


def failed_narrative(snapshot: Snapshot) -> Request | None:
    """Return the build that failed and may be tried again."""
    failed = snapshot.failed(NarrativeRequest)
    return failed[-1] if failed and not open_narrative(snapshot) else None


def failure_of(request: Request, draft_count: int) -> tuple[str, str]:
    """Return what happened to a build, and what is safe and what to do."""
    sentence = request.error_message or (request.error_code or ErrorCode.LLM_ERROR).sentence
    hint = "Retry goes on with the parts that were finished; what came in is kept under Calls (F7)."
    if draft_count:
        earlier = "Version 1 is" if draft_count == 1 else f"All {draft_count} versions are"
        hint = f"{earlier} as before. {hint}"
    return sentence, hint
