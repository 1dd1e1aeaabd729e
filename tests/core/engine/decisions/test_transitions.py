"""What each outcome makes of a session: everything in one `Changes`, or nothing of it (design 6)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import ArtifactId, new_uuid
from core.domain.requests.request import Artifact, Content, RequestRecord, RequestState, SummaryRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.memory import BlockType
from core.engine.decisions import commands
from core.engine.decisions.transitions import settle
from core.engine.kinds.outcome import NarrativeMade, ReplyMade
from core.gateway.call_records import CallRecords
from core.storage.snapshot import recent_from
from tests.core.rooms.simulation import BACKOFF, START, SUCCESSES, Simulation, active, failure
from tests.core.values.sessions import waiting


def a_trail(simulation: Simulation, error: ErrorCode | None = None) -> CallRecords:
    request = simulation.begin()
    content = Content.of("[]")
    artifact = Artifact(
        id=ArtifactId(new_uuid()),
        session_id=request.session_id,
        request_id=request.id,
        attempt=request.attempts,
        call=1,
        agent_id=1,
        provider="scripted",
        model="m",
        prompt_version="v",
        input_hash=content.hash,
        input_ref=content.hash,
        output_ref=None,
        error_code=error,
        created_at=START,
    )
    return CallRecords((artifact,), (content,))


def test_a_reply_is_stored_with_everything_that_follows_from_it_in_one_transaction() -> None:
    simulation = active()
    simulation.play(6)
    simulation.submit("The seventh", Slot.YELLOW)
    call_records = a_trail(simulation)
    changes = simulation.settle(ReplyMade("I come."), call_records)
    gm, reply = changes.events
    assert (gm.prompt_index, gm.ordinal, gm.role, gm.slot, gm.text) == (7, 0, Role.USER, None, "The seventh")
    assert (reply.prompt_index, reply.ordinal, reply.role) == (7, 1, Role.AGENT)
    assert (reply.slot, reply.text) == (Slot.YELLOW, "I come.")
    assert changes.session is not None
    assert changes.session.prompt_index == 7
    assert changes.session.next_slot is Slot.RED
    assert changes.session.state is SessionState.SUMMARIZING
    done, due = map(RequestRecord.of, changes.requests)
    assert (done.state, done.prompts and (done.prompts.first, done.prompts.last)) == (
        RequestState.DONE,
        (7, 7),
    )
    assert (due.kind, due.state, str(due.prompts)) == (RequestKind.SUMMARY, RequestState.PENDING, "1–7")
    assert (changes.artifacts, changes.contents) == (call_records.artifacts, call_records.contents)


@pytest.mark.parametrize(
    ("asked", "following"), [(Slot.RED, Slot.ORANGE), (Slot.ORANGE, Slot.YELLOW), (Slot.YELLOW, Slot.RED)]
)
def test_after_a_reply_the_next_higher_slot_is_next_and_around_at_the_end(
    asked: Slot, following: Slot
) -> None:
    simulation = active(3)
    simulation.submit("Hello", asked)
    simulation.settle()
    assert simulation.snapshot.session.next_slot is following


def test_a_failed_prompt_moves_no_pointer_stores_no_event_and_returns_the_text() -> None:
    simulation = active()
    simulation.play(3)
    before = simulation.snapshot.session
    simulation.submit("Who goes there?", Slot.ORANGE)
    call_records = a_trail(simulation, ErrorCode.LLM_TIMEOUT)
    changes = simulation.settle(failure(ErrorCode.LLM_TIMEOUT), call_records)
    assert changes.events == ()
    assert changes.blocks == ()
    assert replace(simulation.snapshot.session, updated_at=before.updated_at) == before
    assert changes.unsent == {Slot.ORANGE: "Who goes there?"}
    assert changes.artifacts == call_records.artifacts
    [failed] = changes.requests
    assert (failed.state, failed.error_code) == (RequestState.FAILED, ErrorCode.LLM_TIMEOUT)
    assert failed.error_message == ErrorCode.LLM_TIMEOUT.sentence


def test_a_returned_text_stands_in_front_of_what_was_typed_since() -> None:
    simulation = active()
    simulation.submit("First")
    simulation.store(commands.save_unsent(simulation.snapshot, Slot.RED, "and then"))
    simulation.fail()
    assert simulation.snapshot.unsent == {Slot.RED: "First\n\nand then"}


def test_a_text_that_is_in_the_composer_already_is_not_returned_twice() -> None:
    simulation = active()
    simulation.submit("First")
    simulation.store(commands.save_unsent(simulation.snapshot, Slot.RED, "First"))
    simulation.fail()
    assert simulation.snapshot.unsent == {Slot.RED: "First"}


def test_a_cancelled_prompt_settles_like_a_failure_with_its_own_code() -> None:
    simulation = active()
    cancelled = simulation.submit("First")
    simulation.fail(ErrorCode.LLM_CANCELLED)
    assert simulation.request(cancelled).error_code is ErrorCode.LLM_CANCELLED
    assert simulation.snapshot.unsent == {Slot.RED: "First"}
    assert simulation.state is SessionState.ACTIVE


def test_a_success_clears_the_error_of_the_attempt_before() -> None:
    simulation = active()
    request_id = simulation.submit("First")
    simulation.fail(ErrorCode.LLM_TIMEOUT)
    simulation.submit("First")
    simulation.settle()
    done = simulation.request(request_id)
    assert (done.state, done.error_code, done.error_message) == (RequestState.DONE, None, "")


def test_the_lock_is_stored_with_its_block_and_the_first_character_is_next() -> None:
    simulation = Simulation()
    simulation.set_up()
    simulation.lock()
    changes = simulation.settle()
    assert changes.session is not None
    assert changes.session.tab1_locked
    assert changes.session.state is SessionState.ACTIVE
    assert changes.session.next_slot is Slot.RED
    [block] = changes.blocks
    assert (block.type, block.first, block.last) == (BlockType.WORLD_CHAPTER_LOCK, 0, 0)


def test_a_failed_lock_returns_to_the_draft_with_nothing_lost() -> None:
    simulation = Simulation()
    simulation.set_up()
    tab1 = simulation.snapshot.tab1
    simulation.lock()
    simulation.fail(ErrorCode.LLM_INVALID_JSON)
    assert simulation.state is SessionState.DRAFT_TAB1
    assert not simulation.snapshot.session.tab1_locked
    assert simulation.snapshot.tab1 == tab1
    assert simulation.snapshot.blocks == ()


def test_chunks_are_aligned_and_only_the_last_of_an_ended_chapter_is_shorter() -> None:
    simulation = active()
    simulation.play(16)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    simulation.settle()
    assert simulation.state is SessionState.ENDED
    ranges = [(block.first, block.last) for block in simulation.snapshot.blocks]
    assert ranges == [(0, 0), (1, 7), (8, 14), (15, 16)]


def test_a_failed_summary_is_caught_up_with_its_own_range_before_the_next_one() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    simulation.fail()
    simulation.play(7, with_summaries=False)
    assert simulation.state is SessionState.ACTIVE
    assert simulation.snapshot.session.boundary == 0
    simulation.pass_time(BACKOFF.summary.first)
    simulation.store(commands.retry_summary(simulation.snapshot, simulation.now))
    simulation.settle()
    assert str(simulation.only(SummaryRequest).prompts) == "8–14", "the second chunk is due at once"
    simulation.settle()
    assert simulation.state is SessionState.ACTIVE
    assert [(block.first, block.last) for block in simulation.snapshot.blocks] == [(0, 0), (1, 7), (8, 14)]


def test_what_is_unsummarised_stays_in_recent_context_however_long_summaries_fail() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    simulation.fail(ErrorCode.LLM_AUTH_ERROR)
    simulation.play(20, with_summaries=False)
    assert {event.prompt_index for event in simulation.snapshot.recent} == set(range(1, 28))


def test_recent_context_keeps_the_last_summarised_chunk_and_drops_what_is_older() -> None:
    simulation = active()
    simulation.play(17)
    assert recent_from(simulation.snapshot.session) == 7
    assert {event.prompt_index for event in simulation.snapshot.recent} == set(range(8, 18))


def test_a_failed_summary_leaves_the_boundary_and_the_chapter_goes_on() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    changes = simulation.fail(ErrorCode.LLM_INVALID_JSON)
    assert simulation.state is SessionState.ACTIVE
    assert simulation.snapshot.session.boundary == 0
    assert changes.unsent == {}
    simulation.play(1, with_summaries=False)
    assert simulation.state is SessionState.ACTIVE, "the back-off is not over"


def waits(codes: list[ErrorCode], retry_after: float | None = None) -> list[float | None]:
    """Fail one summary again and again; return the seconds until each next try."""
    simulation = active()
    simulation.play(7, with_summaries=False)
    seconds: list[float | None] = []
    for code in codes:
        simulation.fail(code, retry_after)
        due = simulation.only(SummaryRequest).retry_after
        seconds.append(None if due is None else (due - simulation.now) / timedelta(seconds=1))
        simulation.store(commands.retry_summary(simulation.snapshot, simulation.now))
    return seconds


def test_the_wait_before_a_summary_is_tried_again_doubles_up_to_five_minutes() -> None:
    assert waits([ErrorCode.LLM_TIMEOUT] * 9) == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_a_longer_wait_that_the_service_asked_for_is_honoured() -> None:
    assert waits([ErrorCode.LLM_RATE_LIMITED] * 3, retry_after=15) == [15, 15, 20]
    assert waits([ErrorCode.LLM_RATE_LIMITED], retry_after=900) == [900]


@pytest.mark.parametrize("code", [ErrorCode.LLM_CANCELLED, ErrorCode.CONSENT_REQUIRED])
def test_what_the_gm_stopped_or_has_to_allow_is_not_tried_again_by_itself(code: ErrorCode) -> None:
    assert waits([code]) == [None]


def test_the_wait_that_a_service_asked_for_is_kept_with_a_failed_prompt() -> None:
    simulation = active()
    request_id = simulation.submit("First")
    simulation.fail(ErrorCode.LLM_RATE_LIMITED, retry_after=30)
    assert simulation.request(request_id).retry_after == simulation.now + timedelta(seconds=30)


def test_an_end_whose_summary_failed_stays_wanted_until_the_retry_ends_it() -> None:
    simulation = active()
    simulation.play(2)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    simulation.fail()
    assert (simulation.state, simulation.snapshot.session.is_ending) == (SessionState.ACTIVE, True)
    simulation.store(commands.retry_summary(simulation.snapshot, simulation.now))
    simulation.settle()
    assert (simulation.state, simulation.snapshot.session.is_ending) == (SessionState.ENDED, False)


def ended() -> Simulation:
    simulation = active()
    simulation.play(7)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    return simulation


def build(simulation: Simulation) -> None:
    simulation.store(commands.build_narrative(simulation.snapshot, simulation.now)[0])


def test_a_draft_names_the_definition_that_it_was_written_with_not_the_one_of_now() -> None:
    simulation = ended()
    simulation.store(commands.define_narrative(simulation.snapshot, "Plain", 100, simulation.now))
    build(simulation)
    simulation.begin()
    simulation.store(commands.define_narrative(simulation.snapshot, "Ornate", 900, simulation.now))
    [draft] = simulation.settle(NarrativeMade("It was so.", "m", "Plain", 100)).drafts
    assert (draft.definition, draft.target_words) == ("Plain", 100)
    assert simulation.snapshot.session.definition == "Ornate"


def test_drafts_are_numbered_and_name_what_they_were_built_from() -> None:
    simulation = ended()
    build(simulation)
    [first] = simulation.settle().drafts
    build(simulation)
    told = tuple(block.id for block in simulation.snapshot.blocks)
    [second] = simulation.settle(NarrativeMade("It was so.", "m", "Plain", 100, told)).drafts
    assert (first.version, second.version) == (1, 2)
    assert second.source.prompt_index == 7
    assert second.source.block_ids == told
    assert simulation.state is SessionState.ENDED


def test_a_failed_build_returns_to_the_ended_chapter_and_stores_no_draft() -> None:
    simulation = ended()
    build(simulation)
    simulation.settle()
    build(simulation)
    changes = simulation.fail(ErrorCode.LLM_TRUNCATED)
    assert changes.drafts == ()
    assert simulation.state is SessionState.ENDED
    assert simulation.snapshot.draft_count == 1


def test_an_outcome_that_the_state_does_not_allow_is_refused_whole() -> None:
    simulation = active()
    simulation.submit("First")
    request = simulation.begin()
    ended_meanwhile = replace(
        simulation.snapshot, session=replace(simulation.snapshot.session, state=SessionState.ENDED)
    )
    with pytest.raises(IllegalCommandError):
        settle(ended_meanwhile, request, SUCCESSES[RequestKind.REPLY], CallRecords(), simulation.now, BACKOFF)


def test_what_helps_against_an_error_is_stored_with_it() -> None:
    simulation = active()
    request_id = simulation.submit("First")
    error = StoryEngineError(
        ErrorCode.CONSENT_REQUIRED, "Nothing was sent.", "Grant it with `consent grant`."
    )
    simulation.settle(replace(failure(), error=error))
    assert simulation.request(request_id).error_message == "Nothing was sent. Grant it with `consent grant`."


def test_an_error_message_from_a_service_is_stored_without_escape_sequences() -> None:
    simulation = active()
    request_id = simulation.submit("First")
    error = StoryEngineError(ErrorCode.LLM_ERROR, "bad \x1b[31mthing\x07")
    simulation.settle(replace(failure(), error=error))
    assert simulation.request(request_id).error_message == "bad thing"


def test_a_first_wait_below_a_second_is_kept() -> None:
    simulation = active()
    simulation.play(7, with_summaries=False)
    request = simulation.begin()
    failed = failure(ErrorCode.LLM_TIMEOUT)
    changes = settle(
        simulation.snapshot, request, failed, CallRecords(), simulation.now, waiting(0.25).backoffs
    )
    [settled] = [one for one in changes.requests if one.id == request.id]
    assert settled.retry_after == simulation.now + timedelta(seconds=0.25)
