"""Text about the requests in the queue."""

from collections.abc import Sequence
from typing import Final

from core.domain.ids import SessionId
from core.domain.requests.request import (
    BackgroundRequest,
    ReplyRequest,
    Request,
    RequestState,
    SummaryRequest,
)
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.queue.entries import QueueEntry
from core.text.cleaning import clean, clean_line

NOTHING_WAITS: Final = "Nothing waits for a model, and nothing has failed."
LONGEST_START: Final = 200
"""Characters of a prompt that a row takes at most."""


def purpose_of(request: Request, session: Session | None = None) -> str:
    """Return what a request asks for; characters of `session` by name, of another chapter by number."""
    match request:
        case ReplyRequest(slot=slot, text=text):
            return f"{_character(slot, request.session_id, session)}: {clean_line(text[:LONGEST_START])}"
        case SummaryRequest(prompts=prompts) | BackgroundRequest(prompts=prompts):
            return request.spec.purpose.format(prompts=prompts)
        case _:
            return request.spec.purpose


def _character(slot: Slot, whose: SessionId, session: Session | None) -> str:
    if session is None or whose != session.id:
        return f"{int(slot)}"
    return f"{int(slot)} {clean_line(session.name_of(slot))}"


def state_of(entry: QueueEntry) -> str:
    """Return whether a request runs, what it waits for, or why it failed."""
    request = entry.request
    if entry.is_running:
        return "runs"
    if request.is_processing:
        return f"interrupted, waits: {clean_line(entry.waits_for)}"
    if request.state is RequestState.PENDING:
        return f"waits: {clean_line(entry.waits_for)}" if entry.waits_for else "waits"
    said = "gave up" if request.state is RequestState.DEAD else "failed"
    reason = clean(request.error_message) or (request.error_code.sentence if request.error_code else "")
    return f"{said}: {clean_line(reason)}"


def totals_of(entries: Sequence[QueueEntry], *, is_paused: bool, resume: str = "p") -> str:
    """Return how many requests run, wait, failed, and whether the queue is paused; `resume` goes on."""
    running = sum(entry.is_running for entry in entries)
    waiting = sum(entry.request.state.is_open for entry in entries) - running
    failed = len(entries) - running - waiting
    parts = [f"{running:,} running", f"{waiting:,} waiting"]
    if failed:
        parts.append(f"{failed:,} failed")
    if is_paused:
        parts.insert(0, f"Paused, nothing new begins; {resume} goes on")
    return " · ".join(parts)
