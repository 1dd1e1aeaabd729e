"""What opening a session mends after a crash at any instant (design 6, step 6)."""

from dataclasses import replace

import pytest

from core.domain.errors import ErrorCode
from core.domain.requests.request import Content, LockRequest, NarrativeRequest, RequestState, SummaryRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions import commands
from core.engine.decisions.recovery import (
    INTERRUPTED,
    INTERRUPTED_BUILD,
    recover,
    recover_request,
    withdraw_doubtful_prompts,
)
from core.gateway.call_records import UNKNOWN_CALL
from core.storage.changes import Changes
from tests.core.rooms.simulation import BACKOFF, START, Simulation, active
from tests.engine.queue.test_background import work


def test_a_session_with_nothing_in_flight_is_left_alone() -> None:
    simulation = active()
    simulation.play(3)
    simulation.submit("failed")
    simulation.fail()
    assert recover(simulation.snapshot, simulation.now, BACKOFF) is None


def test_an_interrupted_prompt_fails_and_its_text_is_back_in_its_composer() -> None:
    simulation = active()
    request_id = simulation.submit("First", Slot.ORANGE)
    simulation.begin()
    changes = simulation.crash_and_open()
    request = simulation.request(request_id)
    assert (request.state, request.error_code) == (RequestState.FAILED, ErrorCode.LLM_CANCELLED)
    assert request.error_message == INTERRUPTED
    assert simulation.snapshot.unsent == {Slot.ORANGE: "First"}
    assert changes is not None
    [artifact] = changes.artifacts
    assert (artifact.attempt, artifact.call, artifact.agent_id) == (1, UNKNOWN_CALL, 2)
    assert artifact.error_code is ErrorCode.LLM_CANCELLED
    assert Content.of("[]") in changes.contents


def test_prompts_that_were_queued_come_back_in_their_order_before_what_was_typed() -> None:
    simulation = active()
    for text in ("First", "Second", "Third"):
        simulation.submit(text)
    simulation.store(commands.save_unsent(simulation.snapshot, Slot.RED, "typing"))
    changes = simulation.crash_and_open()
    assert simulation.snapshot.unsent == {Slot.RED: "First\n\nSecond\n\nThird\n\ntyping"}
    assert changes is not None
    assert changes.artifacts == (), "none of them was ever with a model"


def test_a_prompt_that_waited_behind_a_summary_comes_back_and_the_summary_goes_on() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    simulation.begin()
    queued = simulation.submit("Eighth")
    simulation.crash_and_open()
    assert simulation.request(queued).state is RequestState.FAILED
    assert simulation.snapshot.unsent == {Slot.RED: "Eighth"}
    assert simulation.state is SessionState.SUMMARIZING
    summary = simulation.only(SummaryRequest)
    assert summary.state is RequestState.PENDING
    simulation.settle()
    assert simulation.snapshot.session.boundary == 7


def test_an_interrupted_summary_is_another_attempt_of_the_same_request() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    begun = simulation.begin()
    simulation.crash_and_open()
    again = simulation.begin()
    assert (again.id, again.attempts) == (begun.id, 2)


def test_an_interrupted_lock_returns_to_the_draft() -> None:
    simulation = Simulation()
    simulation.set_up()
    simulation.lock()
    simulation.begin()
    simulation.crash_and_open()
    assert simulation.state is SessionState.DRAFT_TAB1
    assert simulation.only(LockRequest).state is RequestState.FAILED


def test_an_interrupted_narrative_returns_to_the_ended_chapter() -> None:
    simulation = active()
    simulation.play(7)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    simulation.store(commands.build_narrative(simulation.snapshot, simulation.now)[0])
    simulation.begin()
    simulation.crash_and_open()
    assert simulation.state is SessionState.ENDED
    failed = simulation.only(NarrativeRequest)
    assert (failed.state, failed.error_message) == (RequestState.FAILED, INTERRUPTED_BUILD)


@pytest.mark.parametrize(
    ("state", "repaired"),
    [(SessionState.LOCKING, SessionState.DRAFT_TAB1), (SessionState.NARRATING, SessionState.ENDED)],
)
def test_a_state_that_no_request_accounts_for_is_mended(state: SessionState, repaired: SessionState) -> None:
    simulation = active()
    simulation.snapshot = replace(
        simulation.snapshot, session=replace(simulation.snapshot.session, state=state)
    )
    simulation.crash_and_open()
    assert simulation.state is repaired


def test_a_summary_that_is_due_but_was_never_asked_for_is_asked_for() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    simulation.snapshot = replace(simulation.snapshot, requests=())
    simulation.crash_and_open()
    assert str(simulation.only(SummaryRequest).prompts) == "1–7"


def resetting(simulation: Simulation) -> Simulation:
    session = replace(simulation.snapshot.session, state=SessionState.RESETTING)
    simulation.snapshot = replace(simulation.snapshot, session=session)
    return simulation


def test_a_reset_that_was_not_completed_leaves_the_chapter_as_it_was() -> None:
    unlocked, playing, short, told = Simulation(), active(), active(), active()
    playing.play(9)
    short.play(9)
    short.store(commands.end_chapter(short.snapshot, short.now))
    short.settle()
    told.play(7)
    told.store(commands.end_chapter(told.snapshot, told.now))
    told.store(commands.build_narrative(told.snapshot, told.now)[0])
    told.settle()
    states = []
    for simulation in (unlocked, playing, short, told):
        before = simulation.state
        resetting(simulation).crash_and_open()
        states.append((simulation.state, before))
    assert all(now is before for now, before in states), states


def test_a_reset_that_was_not_completed_while_something_was_open_leaves_that_as_a_crash_does() -> None:
    locking, summing, telling = Simulation(), active(), active()
    locking.set_up()
    locking.lock()
    locking.begin()
    summing.play(7, with_summaries=False)
    telling.play(7)
    telling.store(commands.end_chapter(telling.snapshot, telling.now))
    telling.store(commands.build_narrative(telling.snapshot, telling.now)[0])
    states = []
    for simulation in (locking, summing, telling):
        resetting(simulation).crash_and_open()
        states.append(simulation.state)
    assert states == [SessionState.DRAFT_TAB1, SessionState.SUMMARIZING, SessionState.ENDED]
    summing.settle()
    assert summing.snapshot.session.boundary == 7


def test_recovering_twice_changes_nothing_more() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    simulation.begin()
    simulation.submit("Eighth")
    simulation.crash_and_open()
    unsent, requests = simulation.snapshot.unsent, simulation.snapshot.requests
    again = simulation.crash_and_open()
    assert simulation.snapshot.unsent == unsent
    assert simulation.snapshot.requests == requests
    assert again is None or again.artifacts == ()


def test_a_prompt_that_was_stored_though_the_gm_was_told_otherwise_is_taken_back() -> None:
    simulation = active()
    first = simulation.submit("First")
    repaired = withdraw_doubtful_prompts(simulation.snapshot, {first}, simulation.now)
    assert repaired is not None
    simulation.store(repaired)
    assert simulation.request(first).error_code is ErrorCode.STORAGE_SAVE_FAILED
    assert simulation.snapshot.unsent == {Slot.RED: "First"}
    assert simulation.submit("First") == first, "sending it again is the same request"
    assert withdraw_doubtful_prompts(simulation.snapshot, set(), simulation.now) is None


def test_a_summary_that_was_never_due_leaves_the_chapter_playing() -> None:
    simulation = active()
    simulation.play(3)
    session = replace(simulation.snapshot.session, state=SessionState.SUMMARIZING)
    simulation.snapshot = replace(simulation.snapshot, session=session)
    simulation.crash_and_open()
    assert simulation.state is SessionState.ACTIVE
    assert simulation.snapshot.requests == ()


def test_a_reset_that_was_not_completed_beside_a_prompt_or_a_lock_that_failed_leaves_the_state_before() -> (
    None
):
    asked, refused = active(), Simulation()
    asked.submit("One")
    refused.set_up()
    refused.lock()
    refused.fail()
    for simulation, state in ((asked, SessionState.ACTIVE), (refused, SessionState.DRAFT_TAB1)):
        resetting(simulation).crash_and_open()
        assert simulation.state is state
    assert asked.snapshot.unsent == {Slot.RED: "One"}


def test_interrupted_background_work_is_queued_again_until_its_tries_are_used_up() -> None:
    snapshot = active().snapshot
    waits, begun = work(snapshot.session.id), commands.begin(work(snapshot.session.id), START)
    assert recover(replace(snapshot, requests=(waits,)), START, BACKOFF) is None, "it waits as before"
    tries = BACKOFF.background.tries
    for attempts, uncounted, state in (
        (1, 0, RequestState.PENDING),
        (tries - 1, 0, RequestState.PENDING),
        (tries, 1, RequestState.PENDING),
        (tries, 0, RequestState.DEAD),
        (tries + 2, 1, RequestState.DEAD),
    ):
        crashed = replace(begun, attempts=attempts, uncounted=uncounted)
        repaired = recover(replace(snapshot, requests=(waits, crashed)), START, BACKOFF)
        assert repaired is not None
        [again] = repaired.requests
        assert (again.id, again.state, again.attempts) == (crashed.id, state, attempts)
        assert [one.attempt for one in repaired.artifacts] == [attempts]


def test_a_reply_that_cannot_be_stored_at_all_leaves_the_work_beside_it_alone() -> None:
    simulation = active()
    asked = simulation.submit("First")
    prompt = simulation.begin()
    running = commands.begin(work(simulation.snapshot.session.id), START)
    simulation.store(Changes(session_id=running.session_id, requests=(running,)))
    simulation.store(recover_request(simulation.snapshot, prompt, simulation.now, BACKOFF))
    assert simulation.request(asked).state is RequestState.FAILED
    assert simulation.request(running.id) == running
    simulation.store(recover_request(simulation.snapshot, running, simulation.now, BACKOFF))
    assert simulation.request(running.id).state is RequestState.FAILED
    assert recover_request(simulation.snapshot, running, simulation.now, BACKOFF).requests == ()
