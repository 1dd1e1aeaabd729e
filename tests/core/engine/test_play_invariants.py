"""Whatever the GM does, the models answer and the machine crashes: the rules of design 4 to 6 hold.

A rule-based state machine plays sessions with the pure functions alone, and looks at each step whether
anything that must never happen has happened.
"""

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.requests.request import (
    AnyRequest,
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    RequestState,
    SummaryRequest,
)
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.changes.moves import may_summarise_early
from core.engine.decisions import commands
from core.engine.queue.queue_commands import next_request, next_retry
from core.storage.snapshot import recent_from
from tests.core.rooms.simulation import Simulation, failure, with_limits

CHUNK = 3
SLOTS = st.sampled_from([Slot.RED, Slot.ORANGE])
ERRORS = st.sampled_from(
    [ErrorCode.LLM_TIMEOUT, ErrorCode.LLM_CANCELLED, ErrorCode.CONSENT_REQUIRED, ErrorCode.LLM_INVALID_JSON]
)
ENDED = (SessionState.ENDED, SessionState.NARRATING)


class Play(RuleBasedStateMachine):
    """One session, from set-up to as many drafts as it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = with_limits(Simulation(), chunk_size=CHUNK)
        self.has_early_summaries = False
        self.words: list[str] = []
        """Everything that the GM ever wrote for a character; each word is unlike all others."""

    def a_word(self) -> str:
        self.words.append(f"<{len(self.words)}>")
        return self.words[-1]

    def unless_refused(self, command: Callable[[], object]) -> None:
        before = self.sim.snapshot
        try:
            command()
        except IllegalCommandError:
            assert self.sim.snapshot == before

    def composer(self, slot: Slot) -> str:
        return self.sim.snapshot.unsent.get(slot, "")

    @initialize(is_locked=st.booleans())
    def lock(self, is_locked: bool) -> None:
        self.sim.set_up(2)
        self.sim.lock()
        if is_locked:
            self.sim.settle()

    @rule()
    @precondition(lambda self: self.sim.state is SessionState.DRAFT_TAB1)
    def lock_again(self) -> None:
        self.sim.lock()

    @rule(slot=SLOTS)
    def type_in_the_composer(self, slot: Slot) -> None:
        text = " ".join(filter(None, [self.composer(slot), self.a_word()]))
        self.sim.store(commands.save_unsent(self.sim.snapshot, slot, text))

    @rule(slot=SLOTS, is_saved=st.booleans())
    def send_what_is_in_the_composer(self, slot: Slot, is_saved: bool) -> None:
        text = self.composer(slot)
        if not is_saved or not text:
            text = f"{text} {self.a_word()}".strip()
            try:
                self.sim.submit(text, slot)
            except IllegalCommandError:
                self.sim.store(commands.save_unsent(self.sim.snapshot, slot, text))
        else:
            self.unless_refused(lambda: self.sim.submit(text, slot))

    @rule(slot=SLOTS)
    def send_from_a_script(self, slot: Slot) -> None:
        """Such a text takes nothing from the composer."""
        self.unless_refused(lambda: self.sim.submit(self.a_word(), slot, is_typed=False))
        if not self.is_kept(self.words[-1]):
            self.words.pop()  # It was refused: the script still has it.

    @rule(data=st.data())
    @precondition(lambda self: bool(self.failed(ReplyRequest)))
    def retry_a_prompt(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.failed(ReplyRequest)))
        self.unless_refused(lambda: self.sim.submit(request.text, request.slot, is_typed=False))

    @rule(data=st.data())
    @precondition(lambda self: bool(self.sim.snapshot.requests))
    def withdraw(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.sim.snapshot.requests))
        self.unless_refused(
            lambda: self.sim.store(commands.withdraw(self.sim.snapshot, request.id, self.sim.now))
        )

    @rule()
    @precondition(lambda self: may_summarise_early(self.sim.snapshot, self.sim.now))
    @precondition(lambda self: bool(self.open(ReplyRequest)))
    def summarise_early(self) -> None:
        was_active = self.sim.state is SessionState.ACTIVE
        self.unless_refused(lambda: self.sim.store(commands.summarise_early(self.sim.snapshot, self.sim.now)))
        self.has_early_summaries |= was_active

    @rule()
    def retry_the_summary(self) -> None:
        self.unless_refused(lambda: self.sim.store(commands.retry_summary(self.sim.snapshot, self.sim.now)))

    @rule()
    def end_the_chapter(self) -> None:
        self.unless_refused(lambda: self.sim.store(commands.end_chapter(self.sim.snapshot, self.sim.now)))

    @rule()
    def build_the_narrative(self) -> None:
        self.unless_refused(
            lambda: self.sim.store(commands.build_narrative(self.sim.snapshot, self.sim.now)[0])
        )

    @rule(slot=SLOTS, count=st.integers(1, 4))
    @precondition(lambda self: self.sim.state is SessionState.ACTIVE)
    def play_on(self, slot: Slot, count: int) -> None:
        for _ in range(count):
            self.send_from_a_script(slot)
            if next_request(self.sim.snapshot) is not None:
                self.sim.settle()

    @rule()
    @precondition(lambda self: next_request(self.sim.snapshot) is not None)
    def give_to_the_model(self) -> None:
        self.sim.begin()

    @rule()
    @precondition(lambda self: next_request(self.sim.snapshot) is not None)
    def answer(self) -> None:
        self.sim.settle()

    @rule(code=ERRORS)
    @precondition(lambda self: next_request(self.sim.snapshot) is not None)
    def fail(self, code: ErrorCode) -> None:
        self.sim.settle(failure(code))

    @rule(seconds=st.sampled_from([1, 10, 1000]))
    def pass_time(self, seconds: int) -> None:
        self.sim.pass_time(seconds)
        due = next_retry(self.sim.snapshot, self.sim.now)
        if due is not None and due <= self.sim.now and next_request(self.sim.snapshot) is None:
            self.sim.store(commands.retry_summary(self.sim.snapshot, self.sim.now))

    @rule()
    def crash_and_open(self) -> None:
        self.sim.crash_and_open()
        assert not any(request.state is RequestState.PROCESSING for request in self.sim.snapshot.requests)

    def failed(self, kind: type[AnyRequest]) -> tuple[AnyRequest, ...]:
        return self.sim.snapshot.failed(kind)

    def open(self, kind: type[AnyRequest]) -> list[AnyRequest]:
        return [request for request in self.sim.snapshot.open_requests if isinstance(request, kind)]

    def is_kept(self, word: str) -> bool:
        snapshot = self.sim.snapshot
        return any(
            word in text
            for text in (
                *(event.text for event in self.sim.events),
                *(request.text for request in snapshot.requests if isinstance(request, ReplyRequest)),
                *snapshot.unsent.values(),
            )
        )

    @invariant()
    def the_pointer_counts_stored_replies_and_the_log_has_no_holes(self) -> None:
        expected = [
            (index, ordinal)
            for index in range(1, self.sim.snapshot.session.prompt_index + 1)
            for ordinal in (0, 1)
        ]
        assert [(event.prompt_index, event.ordinal) for event in self.sim.events] == expected
        assert all((event.role is Role.USER) == (event.ordinal == 0) for event in self.sim.events)

    @invariant()
    def deltas_follow_each_other_in_aligned_chunks_up_to_the_boundary(self) -> None:
        session = self.sim.snapshot.session
        deltas = [block for block in self.sim.snapshot.blocks if block.last]
        assert [block.first for block in deltas] == [1, *(block.last + 1 for block in deltas[:-1])][
            : len(deltas)
        ]
        assert session.boundary == (deltas[-1].last if deltas else 0) <= session.prompt_index
        for block in deltas:
            assert (block.first - 1) // CHUNK == (block.last - 1) // CHUNK, "a chunk, or a part of one"
            is_whole = block.last % CHUNK == 0 and block.last - block.first + 1 == CHUNK
            is_last_of_the_chapter = block is deltas[-1] and session.state in ENDED
            assert is_whole or is_last_of_the_chapter or self.has_early_summaries

    @invariant()
    def no_unsummarised_prompt_is_outside_recent_context(self) -> None:
        session = self.sim.snapshot.session
        start = recent_from(session)
        assert start <= session.boundary
        expected = [event for event in self.sim.events if event.prompt_index > start]
        assert list(self.sim.snapshot.recent) == expected

    @invariant()
    def at_most_one_request_is_with_a_model_and_the_state_knows_of_it(self) -> None:
        requests = self.sim.snapshot.requests
        assert sum(request.state is RequestState.PROCESSING for request in requests) <= 1
        state = self.sim.state
        assert len(self.open(LockRequest)) == (state is SessionState.LOCKING)
        assert len(self.open(SummaryRequest)) == (state is SessionState.SUMMARIZING)
        assert len(self.open(NarrativeRequest)) == (state is SessionState.NARRATING)
        if any(request.state is RequestState.PROCESSING for request in self.open(ReplyRequest)):
            assert state is SessionState.ACTIVE, "its reply could not be stored"
        if self.open(ReplyRequest):
            assert state in (SessionState.ACTIVE, SessionState.SUMMARIZING)

    @invariant()
    def nothing_that_the_gm_wrote_is_lost(self) -> None:
        assert [word for word in self.words if not self.is_kept(word)] == []

    @invariant()
    def an_ended_chapter_is_in_memory_whole(self) -> None:
        session = self.sim.snapshot.session
        if session.state in ENDED:
            assert session.boundary == session.prompt_index

    @invariant()
    def a_state_that_waits_for_a_model_has_something_for_it_to_do(self) -> None:
        if self.sim.state in (SessionState.LOCKING, SessionState.SUMMARIZING, SessionState.NARRATING):
            assert next_request(self.sim.snapshot) is not None


TestPlay = Play.TestCase
TestPlay.settings = settings(stateful_step_count=50)
