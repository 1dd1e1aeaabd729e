"""What a test call of a model leaves behind: its provenance, and no trace in the session (design 4)."""

from dataclasses import replace

import pytest

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import RequestRecord, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.engine.kinds.test_call import TEST_VERSION, new_test_call, record_of_test_call
from core.engine.session.session_reader import last_duration
from core.gateway.model_gateway import CallResult
from tests.core.engine.decisions.test_transitions import a_trail
from tests.core.rooms.simulation import START, active

REFUSED = StoryEngineError(ErrorCode.LLM_AUTH_ERROR, "The key \x1b[2Jis wrong.", "Set another.")


@pytest.mark.parametrize(
    ("error", "state"), [(None, RequestState.DONE), (REFUSED, RequestState.CANCELLED)], ids=["done", "failed"]
)
def test_a_test_call_is_on_record_and_changes_nothing_of_the_session(
    error: StoryEngineError | None, state: RequestState
) -> None:
    simulation = active()
    simulation.play(2)
    simulation.submit("Waiting")
    call_records = a_trail(simulation)
    before = simulation.snapshot
    test = new_test_call(before.session.id, START)
    changes = record_of_test_call(test, CallResult("ready", "m", error, call_records), START)
    [request] = map(RequestRecord.of, changes.requests)
    assert (request.kind, request.state, request.attempts) == (RequestKind.TEST, state, 1)
    assert (request.slot, request.text, request.prompts) == (None, "", None)
    assert request.error_code is (error and error.code)
    assert "\x1b" not in request.error_message
    assert (changes.artifacts, changes.contents) == (call_records.artifacts, call_records.contents)
    assert before.after(changes) == before, "neither open nor kept to be tried again"


def test_a_test_call_does_not_tell_how_long_an_agent_takes() -> None:
    simulation = active()
    simulation.submit("One")
    [artifact] = a_trail(simulation).artifacts
    artifact = replace(artifact, total_ms=3_000)
    assert last_duration([artifact], 1, "m") == 3
    assert last_duration([replace(artifact, prompt_version=TEST_VERSION)], 1, "m") is None
