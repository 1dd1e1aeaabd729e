"""Rules of dead letters and of work beside the play that a session from a file has to keep."""

from typing import Any

import pytest

from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from tests.core.exchange.integrity.test_session_integrity import (
    DONE,
    PENDING,
    PROCESSING,
    Whole,
    asking,
    call,
    ended,
    problems,
    reply,
)

DEAD = RequestState.DEAD


def work(state: RequestState = PENDING, number: int = 1, **more: Any) -> Request:
    return call(RequestKind.AFTERTHOUGHT, state, number, **{"slot": Slot.RED, **more})


KEPT = {
    "beside a reply that runs": asking(
        reply(PROCESSING), work(PROCESSING, 2), work(PENDING, 3), work(DEAD, 4), work(DONE, 5)
    ),
    "waiting in an ended chapter": asking(work(prompts=PromptRange(9, 9)), work(PENDING, 2), whole=ended()),
    "about no character": asking(work(slot=None)),
}
BROKEN = {
    "two calls run at once": asking(work(PROCESSING), work(PROCESSING, 2)),
    "a call that goes back to the GM when it fails is a dead letter": asking(reply(DEAD)),
    "background work is about a character or prompts that are missing": asking(work(slot=Slot.VIOLET)),
}


@pytest.mark.parametrize("whole", KEPT.values(), ids=KEPT)
def test_work_beside_the_play_may_wait_and_run_in_any_number_of_states(whole: Whole) -> None:
    assert problems(whole) == []


@pytest.mark.parametrize("problem", BROKEN)
def test_a_session_with_work_that_cannot_be_is_told_why(problem: str) -> None:
    assert problem in problems(BROKEN[problem])


@pytest.mark.parametrize("kind", [RequestKind.LOCK, RequestKind.NARRATIVE])
def test_no_other_call_of_the_gm_is_a_dead_letter(kind: RequestKind) -> None:
    assert any("dead letter" in one for one in problems(asking(call(kind, DEAD), whole=ended())))


def test_work_about_prompts_beyond_the_log_is_refused() -> None:
    assert any(
        "prompts that are missing" in one for one in problems(asking(work(prompts=PromptRange(9, 10))))
    )
    # Branches of an earlier version have readings that go on after their last prompt: these are done.
    assert problems(asking(work(DONE, prompts=PromptRange(9, 10)))) == []
