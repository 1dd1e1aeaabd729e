"""A session played by the pure functions alone: no store, no model, a clock that is moved by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.requests.request import AnyRequest, Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.requests.retry_policy import Backoffs
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.engine.changes import moves
from core.engine.decisions import commands
from core.engine.decisions.recovery import recover
from core.engine.decisions.tab1_commands import Tab1Edit, edit_tab1
from core.engine.decisions.transitions import settle
from core.engine.kinds.outcome import Failed, LockMade, NarrativeMade, Outcome, ReplyMade, SummaryMade
from core.engine.queue.queue_commands import next_request
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BACKOFF = Backoffs()

SUCCESSES: dict[RequestKind, Outcome] = {
    RequestKind.LOCK: LockMade({"memory_type": "world_chapter_lock"}),
    RequestKind.REPLY: ReplyMade("I nod."),
    RequestKind.SUMMARY: SummaryMade({"memory_type": "turn_delta"}),
    RequestKind.NARRATIVE: NarrativeMade("It was so.", "model", "Plain.", 100),
}


def failure(code: ErrorCode = ErrorCode.LLM_SERVER_ERROR, retry_after: float | None = None) -> Failed:
    return Failed(StoryEngineError(code), retry_after)


class Simulation:
    """The content of a store, and the steps that the engine takes."""

    def __init__(self) -> None:
        self.now = START
        made = moves.new_session(self.now, session_id=SessionId(new_uuid()))
        assert made.session is not None
        assert made.tab1 is not None
        self.snapshot = Snapshot(session=made.session, tab1=made.tab1)
        self.events: list[Event] = []
        self.requests: dict[RequestId, Request] = {}

    @property
    def state(self) -> SessionState:
        return self.snapshot.session.state

    def store(self, changes: Changes) -> Changes:
        """Make changes true, as one transaction would."""
        assert changes.session_id == self.snapshot.session.id
        self.snapshot = self.snapshot.after(changes)
        self.events += changes.events
        self.requests |= {request.id: request for request in changes.requests}
        return changes

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def request(self, request_id: RequestId) -> Request:
        return self.requests[request_id]

    def only(self, kind: type[AnyRequest]) -> AnyRequest:
        """The one request of this kind that is open or failed."""
        [found] = [request for request in self.snapshot.requests if isinstance(request, kind)]
        return found

    def begin(self) -> Request:
        """Give the request whose turn it is to a model."""
        request = next_request(self.snapshot)
        assert request is not None, "nothing can be given to a model now"
        if request.state is RequestState.PENDING:
            request = commands.begin(request, self.now)
            self.store(Changes(session_id=request.session_id, requests=(request,)))
        return request

    def settle(self, outcome: Outcome | None = None, call_records: CallRecords | None = None) -> Changes:
        """Let the model answer the next request: well, unless another outcome is given."""
        request = self.begin()
        return self.store(
            settle(
                self.snapshot,
                request,
                outcome or SUCCESSES[request.kind],
                call_records or CallRecords(),
                self.now,
                BACKOFF,
            )
        )

    def fail(self, code: ErrorCode = ErrorCode.LLM_SERVER_ERROR, retry_after: float | None = None) -> Changes:
        return self.settle(failure(code, retry_after))

    def set_up(self, agents: int = 3) -> None:
        self.store(edit_tab1(self.snapshot, Tab1Edit(world="Sea", character_count=agents), self.now))

    def lock(self) -> RequestId:
        changes, request_id = commands.lock(self.snapshot, self.now)
        self.store(changes)
        return request_id

    def submit(self, text: str, slot: Slot = Slot.RED, *, is_typed: bool = True) -> RequestId:
        changes, request_id = commands.submit_prompt(self.snapshot, slot, text, self.now, is_typed=is_typed)
        self.store(changes)
        return request_id

    def play(self, count: int, *, with_summaries: bool = True) -> None:
        """Play prompts to their replies, and the summaries that become due if wanted."""
        for _ in range(count):
            self.submit(f"Prompt {self.snapshot.session.prompt_index + 1}")
            self.settle()
            while with_summaries and self.state is SessionState.SUMMARIZING:
                self.settle()

    def crash_and_open(self) -> Changes | None:
        """Lose everything but what is stored, and open the session again."""
        repaired = recover(self.snapshot, self.now, BACKOFF)
        if repaired is not None:
            self.store(repaired)
        return repaired


def active(agents: int = 3) -> Simulation:
    """A session that can be played."""
    simulation = Simulation()
    simulation.set_up(agents)
    simulation.lock()
    simulation.settle()
    return simulation


def with_limits(simulation: Simulation, **limits: int) -> Simulation:
    """The same with other limits."""
    session = simulation.snapshot.session
    session = replace(session, limits=replace(session.limits, **limits))
    simulation.snapshot = replace(simulation.snapshot, session=session)
    return simulation
