"""The end of a chapter, and the summaries that are due then or retried: what each command stores."""

import pytest

from core.domain.errors import IllegalCommandError
from core.domain.requests.request import RequestState, SummaryRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions import commands
from tests.core.rooms.simulation import active


def test_a_chapter_cannot_end_while_a_reply_is_to_come() -> None:
    simulation = active()
    simulation.submit("First")
    with pytest.raises(IllegalCommandError, match="still being written"):
        commands.end_chapter(simulation.snapshot, simulation.now)


def test_a_chapter_with_everything_in_memory_ends_at_once() -> None:
    simulation = active()
    simulation.play(7)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    assert simulation.state is SessionState.ENDED


def test_ending_gives_up_failed_prompts_whose_text_stays_in_the_composer() -> None:
    simulation = active()
    simulation.play(7)
    failed = simulation.submit("Last words")
    simulation.fail()
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    assert simulation.request(failed).state is RequestState.CANCELLED
    assert simulation.snapshot.unsent == {Slot.RED: "Last words"}


def test_an_end_that_failed_is_taken_back_by_a_new_prompt_with_its_short_summary() -> None:
    simulation = active()
    simulation.play(9)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    short = simulation.only(SummaryRequest)
    simulation.fail()
    assert simulation.snapshot.session.is_ending
    simulation.submit("No, wait")
    assert not simulation.snapshot.session.is_ending
    assert simulation.request(short.id).state is RequestState.CANCELLED
    simulation.settle()
    simulation.play(4)
    assert [(block.first, block.last) for block in simulation.snapshot.blocks] == [(0, 0), (1, 7), (8, 14)]


def test_a_full_summary_that_failed_at_the_end_is_kept_when_the_end_is_taken_back() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    full = simulation.only(SummaryRequest)
    simulation.fail()
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    simulation.fail()
    simulation.submit("No, wait")
    assert simulation.request(full.id).state is RequestState.FAILED


def test_an_end_gives_up_failed_prompts_and_no_summary() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    summary = simulation.only(SummaryRequest)
    simulation.fail()
    failed = simulation.submit("Last words")
    simulation.begin()
    simulation.fail()
    changes = commands.end_chapter(simulation.snapshot, simulation.now)
    cancelled = [one.id for one in changes.requests if one.state is RequestState.CANCELLED]
    assert cancelled == [failed]
    assert summary.id not in cancelled


def test_a_new_prompt_is_refused_while_the_chapter_is_being_ended() -> None:
    simulation = active()
    simulation.play(1)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    with pytest.raises(IllegalCommandError, match="being ended"):
        simulation.submit("One more")


def test_a_summary_that_is_retried_beside_a_reply_begins_when_the_reply_is_stored() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    simulation.fail()
    simulation.submit("Meanwhile")
    simulation.begin()
    simulation.store(commands.retry_summary(simulation.snapshot, simulation.now))
    assert simulation.state is SessionState.ACTIVE
    simulation.settle()
    assert simulation.snapshot.session.prompt_index == 8
    assert simulation.begin().kind is RequestKind.SUMMARY


def test_nothing_is_summarised_when_nothing_is_due() -> None:
    simulation = active()
    simulation.play(3)
    with pytest.raises(IllegalCommandError, match="nothing to summarise"):
        commands.retry_summary(simulation.snapshot, simulation.now)
    simulation.submit("Prompt")
    simulation.begin()
    with pytest.raises(IllegalCommandError, match="nothing to summarise"):
        commands.retry_summary(simulation.snapshot, simulation.now)


def test_a_reply_that_is_taken_back_while_a_summary_is_made_asks_for_no_second_one() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    simulation.fail()
    changes, _ = commands.submit_prompt(
        simulation.snapshot, Slot.RED, "Both of you.", simulation.now, then=(Slot.ORANGE,)
    )
    simulation.store(changes)
    simulation.pass_time(3_600)  # The failed summary is due again when the first of them has answered.
    simulation.settle()
    further = simulation.snapshot.further_reply
    assert simulation.state is SessionState.SUMMARIZING
    assert further is not None
    taken_back = simulation.store(commands.withdraw(simulation.snapshot, further.id, simulation.now))
    assert [request.id for request in taken_back.requests] == [further.id]
    simulation.settle()
    assert (simulation.state, simulation.snapshot.open_requests) == (SessionState.ACTIVE, ())
