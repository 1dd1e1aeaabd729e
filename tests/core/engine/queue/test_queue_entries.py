"""The queue as a list: which model a request is for."""

from core.domain.clock import utc_now
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import BackgroundRequest
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
