"""The queue as a list: which model a request is for, and what it waits for."""

import pytest

from core.domain.clock import utc_now
from core.domain.errors import ErrorCode
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.engine.changes.moves import new_work
from core.engine.queue.entries import entries_of
from core.storage.queue_store import QueuedRequest
from tests.engine.windows import CHOICES


def test_vectors_of_items_are_not_said_to_be_made_by_the_model_that_writes() -> None:
    now = utc_now()
    listed = []
    for kind in (RequestKind.EMBEDDING, RequestKind.EXTRACTION):
        request = BackgroundRequest(text="", **new_work(kind, SessionId(new_uuid()), now))
        one = QueuedRequest(
            request=request, session_title="", session_state=SessionState.ACTIVE, is_open=True
        )
        listed += [entry.lane for entry in entries_of([one], CHOICES, now, is_paused=False)]
    vectors, writes = listed
    assert vectors == "embedding"
    assert writes not in ("", vectors)


@pytest.mark.parametrize(
    ("code", "waits_for"),
    [
        (ErrorCode.CEILING_REACHED, "the ceiling, or your retry"),
        (ErrorCode.CONSENT_REQUIRED, "your retry"),
    ],
)
def test_what_a_ceiling_refused_is_said_to_wait_for_it_or_for_a_retry(
    code: ErrorCode, waits_for: str
) -> None:
    now = utc_now()
    request = BackgroundRequest(
        state=RequestState.FAILED,
        error_code=code,
        **new_work(RequestKind.EXTRACTION, SessionId(new_uuid()), now),
    )
    one = QueuedRequest(request=request, session_title="", session_state=SessionState.ACTIVE, is_open=True)
    [entry] = entries_of([one], CHOICES, now, is_paused=False)
    assert entry.waits_for == waits_for
