"""The queue as a list: requests in the order in which they run, and what each waits for (design 17)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.requests.request import BackgroundRequest, ReplyRequest, Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.profile import Profile
from core.domain.session.session_state import SessionState
from core.storage.queue_store import QueuedRequest
from core.text.numbers import counted

REFUSED_BEFORE: Final = "the part that was refused"
_OPENING: Final = "its chapter to be opened"
_EMBEDDING: Final = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """One request of the queue."""

    request: Request
    session_title: str
    lane: str
    """The account and the model that are asked."""
    waits_for: str
    """Its reason for waiting, in plain words; empty while a model works on it, or when it is next."""

    @property
    def is_running(self) -> bool:
        """Whether a model works on it; the program that took one of a closed chapter was killed."""
        return self.request.is_processing and not self.waits_for


def entries_of(
    queued: Sequence[QueuedRequest], choices: ModelAssignments, now: datetime, *, is_paused: bool
) -> list[QueueEntry]:
    """Return the requests in the order in which they run, each with its reason for waiting."""
    ordered = sorted(queued, key=lambda one: (_rank(one.request, now), one.request.order))
    held_up = {
        one.request.session_id
        for one in queued
        if isinstance(one.request, ReplyRequest) and one.request.has_failed
    }
    refused = {(one.request.session_id, one.request.kind) for one in queued if one.request.holds_up}
    entries: list[QueueEntry] = []
    for one in ordered:
        lane = lane_of(one, choices)
        waits_for = _waits_for(one, now, is_paused=is_paused, is_held_up=one.request.session_id in held_up)
        is_pending = one.request.state is RequestState.PENDING
        if is_pending and (one.request.session_id, one.request.kind) in refused:
            waits_for = waits_for or REFUSED_BEFORE
        if not waits_for and is_pending:
            waits_for = _calls_before(one.request, lane, entries)
        entry = QueueEntry(
            request=one.request, session_title=one.session_title, lane=lane, waits_for=waits_for
        )
        entries.append(entry)
    return entries


def lane_of(one: QueuedRequest, choices: ModelAssignments) -> str:
    """Return the account and the model that a request asks, as the settings name them.

    Vectors are made by a model of their own, whatever answers otherwise.
    """
    request = one.request
    if request.kind is RequestKind.EMBEDDING:
        return _EMBEDDING
    model = getattr(request, "model", "")
    if model:
        return str(model)
    slot = request.slot if isinstance(request, ReplyRequest | BackgroundRequest) else None
    if slot is not None:
        brought = {slot: Profile(model=one.model)} if one.model else {}
        return choices.for_cast(brought).of(AgentRole.CHARACTER, slot).label
    role = request.spec.role
    return choices[AgentRole.NARRATIVE if role is AgentRole.CHARACTER else role].label


def _rank(request: Request, now: datetime) -> int:
    match request.state:
        case RequestState.PROCESSING:
            return 0
        case RequestState.PENDING:
            return 2 if _is_waiting(request, now) else 1
        case _:
            return 3


def _is_waiting(request: Request, now: datetime) -> bool:
    return request.retry_after is not None and request.updated_at <= now < request.retry_after


def _waits_for(one: QueuedRequest, now: datetime, *, is_paused: bool, is_held_up: bool) -> str:
    request = one.request
    if request.is_processing:
        return "" if one.is_open else _OPENING
    if request.retry_after is not None and _is_waiting(request, now):
        return f"until {request.retry_after.astimezone():%H:%M}"
    if request.has_failed:
        return "the ceiling, or your retry" if request.waits_for_money else "your retry"
    if is_paused:
        return "paused"
    if not one.is_open:
        return _OPENING
    if isinstance(request, ReplyRequest):
        if one.session_state is SessionState.SUMMARIZING:
            return "its summary"
        if is_held_up:
            return "the prompt before it, which failed"
    return ""


def _calls_before(request: Request, lane: str, entries: Sequence[QueueEntry]) -> str:
    """Return how many calls go before one: those of its model, and those of its chapter that it follows."""
    before = sum(
        entry.request.state.is_open
        and (
            entry.lane == lane
            or (
                entry.request.session_id == request.session_id
                and entry.request.spec.is_background == request.spec.is_background
            )
        )
        for entry in entries
    )
    return f"{counted(before, 'call')} before it" if before else ""
