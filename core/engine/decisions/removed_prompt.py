"""Decides what becomes of a prompt that a restore removed while a character answered it."""

from dataclasses import replace
from datetime import datetime

from core.domain.errors import ErrorCode
from core.domain.requests.removed import PROMPT_REMOVED, can_ask_again
from core.domain.requests.request import ReplyRequest, Request, RequestState
from core.engine.changes.moves import provenance
from core.engine.kinds.registry import handler_of
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


def is_removed_prompt(snapshot: Snapshot, request: Request) -> bool:
    """Whether a prompt is not in the chapter any longer, which could ask it again."""
    if not isinstance(request, ReplyRequest) or request.follows or request.continues:
        return False
    is_there = any(one.id == request.id for one in snapshot.requests)
    session = snapshot.session
    return not is_there and can_ask_again(session.state, session.slots, request.called)


def keep_removed_prompt(
    snapshot: Snapshot, request: Request, call_records: CallRecords, now: datetime
) -> Changes:
    """Store the prompt again, as one that failed: its text returns, and its answer can be kept."""
    failed = replace(
        request,
        state=RequestState.FAILED,
        error_code=ErrorCode.STORAGE_SAVE_FAILED,
        error_message=PROMPT_REMOVED,
        updated_at=now,
    )
    if isinstance(failed, ReplyRequest) and failed.prompts is not None:
        is_played = failed.prompts.last <= snapshot.session.prompt_index
        failed = failed if is_played else replace(failed, prompts=None)
    unsent = handler_of(request).returned(snapshot, failed)
    return replace(provenance(request, call_records), requests=(failed,), unsent=unsent)
