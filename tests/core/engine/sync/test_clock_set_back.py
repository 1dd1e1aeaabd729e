"""A clock that is set back while a chapter is played: nothing waits for a time that is a day away."""

from datetime import timedelta

import pytest

from core.domain.errors import ErrorCode
from core.domain.requests.request import SummaryRequest
from core.domain.session.session_state import SessionState
from core.engine.queue.queue_commands import next_retry
from tests.core.rooms.simulation import BACKOFF, Simulation, active, with_limits

DAY = timedelta(days=1)


def with_failed_summary(code: ErrorCode = ErrorCode.LLM_SERVER_ERROR) -> Simulation:
    simulation = with_limits(active(), chunk_size=2)
    simulation.play(2, with_summaries=False)
    simulation.fail(code)
    assert simulation.state is SessionState.ACTIVE
    return simulation


def test_a_failed_summary_waits_its_back_off_while_the_clock_goes_on() -> None:
    simulation = with_failed_summary()
    assert next_retry(simulation.snapshot, simulation.now) == simulation.now + timedelta(
        seconds=BACKOFF.summary.first
    )


def test_a_failed_summary_is_due_at_once_when_the_clock_was_set_back() -> None:
    simulation = with_failed_summary()
    simulation.now -= DAY
    assert next_retry(simulation.snapshot, simulation.now) == simulation.now
    simulation.play(1)
    assert simulation.snapshot.session.boundary == 2, "the next reply starts it"


def test_its_next_failure_waits_by_the_new_clock() -> None:
    simulation = with_failed_summary()
    simulation.now -= DAY
    simulation.submit("On")
    simulation.settle()
    simulation.fail()
    again = simulation.only(SummaryRequest)
    assert again.attempts == 2
    due = next_retry(simulation.snapshot, simulation.now)
    assert due == again.retry_after == simulation.now + timedelta(seconds=2 * BACKOFF.summary.first)


@pytest.mark.parametrize("code", [ErrorCode.LLM_CANCELLED, ErrorCode.CONSENT_REQUIRED])
def test_what_waits_for_the_gm_waits_for_the_gm_whatever_the_clock_says(code: ErrorCode) -> None:
    simulation = with_failed_summary(code)
    simulation.now -= DAY
    assert next_retry(simulation.snapshot, simulation.now) is None
