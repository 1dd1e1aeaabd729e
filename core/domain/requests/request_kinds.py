"""The kinds of requests and their properties (design 6).

The handler of each kind, in `core.engine.kinds`, makes its calls and applies its outcome to the session.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.retry_policy import NEEDS_THE_GM, PASSING, RetryPolicy
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command


class RequestKind(StrEnum):
    """Kind of a request: the task of the model."""

    LOCK = "lock"
    REPLY = "reply"
    SUMMARY = "summary"
    NARRATIVE = "narrative"
    TEST = "test"
    ASSIST = "assist"
    AFTERTHOUGHT = "afterthought"
    HEARTBEAT = "heartbeat"
    GAPS = "gaps"
    """Fill in missing details of a character of the library; the GM waits for it."""
    CEREMONY = "ceremony"
    """Propose changes to a character of the library after a chapter has ended."""
    CONDENSE = "condense"
    """Old memory in fewer words."""
    EXTRACTION = "extraction"
    """Extract items for the memory bank from a chunk of play."""
    EMBEDDING = "embedding"
    """Compute vectors of items of the memory bank."""


class Level(StrEnum):
    """Urgency of a request, in bands of a hundred of its priority."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @classmethod
    def of(cls, priority: int) -> "Level":
        """Return the level of a stored priority; lower numbers are more urgent."""
        return tuple(cls)[min(max(priority, 0) // BAND, len(cls) - 1)]

    @property
    def first(self) -> int:
        """The priority that comes before all others of this level."""
        return tuple(Level).index(self) * BAND


BAND: Final = 100
"""Number of priorities in a level."""
_MANUAL: Final = RetryPolicy()
_AUTOMATIC: Final = RetryPolicy(is_automatic=True, waits_for_the_gm=NEEDS_THE_GM)
_UNLESS_OF_NO_USE: Final = RetryPolicy(is_automatic=True, waits_for_the_gm=frozenset(ErrorCode) - PASSING)
"""The GM judges an answer of no use before another is paid for."""
_READS_AS_IT_GOES: Final = replace(
    _UNLESS_OF_NO_USE, waits_for_the_gm=_UNLESS_OF_NO_USE.waits_for_the_gm - {ErrorCode.STORAGE_LOAD_FAILED}
)
"""For work that reads the database between its calls, and keeps each answer: nothing is paid for twice."""
_LOCKED: Final = frozenset(state for state in SessionState if state.is_played or state.has_ended)
"""The states of a chapter that is locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """The properties of one kind of request."""

    priority: int
    """Lower runs first: a due summary before a queued prompt. `Level` says which of them are urgent."""
    role: AgentRole
    """The agent that answers."""
    purpose: str
    """Its purpose in words for the GM; `{prompts}` is replaced by the prompts that it covers."""
    word: str = ""
    """A short word for it where others have the number of a prompt; empty for a kind that has one."""
    runs_in: frozenset[SessionState] = frozenset()
    """The states in which a request can begin."""
    waits_in: frozenset[SessionState] = frozenset()
    """Further states in which a request can be queued."""
    may_precede_lock: bool = False
    is_background: bool = False
    """Whether it runs beside the play, never moves the session, and is put back or tried again by itself."""
    failed: Command | None = None
    """The command that a failure gives to the session; None for a kind outside the story."""
    retry: RetryPolicy = _MANUAL
    resumes: bool = False
    """Whether a request of the play that a crash interrupted is queued again; otherwise it fails."""
    again_when_opened: bool = False
    """Whether opening its chapter gives background work its tries again once they are used up."""
    waits_for_refused: bool = False
    """Whether the requests of a chapter are one work: none begins while one of them was refused."""
    when_stopped: str = ""
    """The message when the program is quit while such a request runs; `{name}` is the character's."""

    @property
    def names_prompts(self) -> bool:
        """Whether its purpose names the prompts that it covers, which every request has then."""
        return "{prompts" in self.purpose

    @property
    def open_in(self) -> frozenset[SessionState]:
        """The states in which a request can be queued or run."""
        return self.runs_in | self.waits_in


_BesidePlay: Final = partial(KindSpec, is_background=True)
KIND_SPECS: Final[Mapping[RequestKind, KindSpec]] = {
    RequestKind.LOCK: KindSpec(
        priority=0,
        role=AgentRole.WORLD_LOCK,
        purpose="lock",
        runs_in=frozenset({SessionState.LOCKING}),
        may_precede_lock=True,
        failed=Command.LOCK_FAILED,
        when_stopped="The lock is stopped; world, chapter and cast are kept as you wrote them.",
    ),
    RequestKind.SUMMARY: KindSpec(
        priority=10,
        role=AgentRole.CONTEXT_SUMMARY,
        purpose="summary of {prompts.named}",
        runs_in=frozenset({SessionState.SUMMARIZING}),
        failed=Command.SUMMARY_FAILED,
        retry=_AUTOMATIC,
        resumes=True,
        when_stopped="The summary is stopped; all prompts are kept, and it is made with the next one.",
    ),
    RequestKind.REPLY: KindSpec(
        priority=20,
        role=AgentRole.CHARACTER,
        purpose="reply",
        runs_in=frozenset({SessionState.ACTIVE}),
        waits_in=frozenset({SessionState.SUMMARIZING}),
        failed=Command.REPLY_FAILED,
        when_stopped="The reply of {name} is stopped; your prompt is kept in its panel.",
    ),
    RequestKind.NARRATIVE: KindSpec(
        priority=30,
        role=AgentRole.NARRATIVE,
        purpose="the chapter as text",
        word="all",
        runs_in=frozenset({SessionState.NARRATING}),
        failed=Command.NARRATIVE_FAILED,
        when_stopped="The writing of the chapter is stopped; the finished parts are kept for Retry.",
    ),
    RequestKind.TEST: KindSpec(
        priority=40, role=AgentRole.CHARACTER, purpose="test", word="test", may_precede_lock=True
    ),
    RequestKind.ASSIST: _BesidePlay(
        priority=Level.NORMAL.first,
        role=AgentRole.NARRATIVE,
        purpose="help with a text of yours",
        word="assist",
        runs_in=frozenset(SessionState),
        may_precede_lock=True,
        retry=_UNLESS_OF_NO_USE,
    ),
    RequestKind.AFTERTHOUGHT: _BesidePlay(
        priority=Level.LOW.first,
        role=AgentRole.CHARACTER,
        purpose="afterthought",
        runs_in=frozenset({SessionState.ACTIVE}),
        retry=_AUTOMATIC,
    ),
    RequestKind.HEARTBEAT: _BesidePlay(
        priority=Level.LOW.first + 10,
        role=AgentRole.CHARACTER,
        purpose="heartbeat",
        word="hint",
        runs_in=frozenset({SessionState.ACTIVE}),
        retry=_AUTOMATIC,
    ),
    RequestKind.GAPS: _BesidePlay(
        priority=Level.NORMAL.first + 10,
        role=AgentRole.CONTEXT_SUMMARY,
        purpose="missing details of a character of the library",
        word="gaps",
        runs_in=frozenset(SessionState),
        may_precede_lock=True,
        retry=_UNLESS_OF_NO_USE,
    ),
    RequestKind.CEREMONY: _BesidePlay(
        priority=Level.LOW.first + 20,
        role=AgentRole.CONTEXT_SUMMARY,
        purpose="changes of a character of the library after a chapter",
        word="cast",
        runs_in=frozenset({SessionState.ENDED, SessionState.NARRATING}),
        retry=_UNLESS_OF_NO_USE,
    ),
    RequestKind.CONDENSE: _BesidePlay(
        priority=Level.LOW.first + 30,
        role=AgentRole.CONTEXT_SUMMARY,
        purpose="memory of {prompts.named} in fewer words",
        word="memory",
        # Once the chapter has ended it is done without a call.
        runs_in=frozenset({SessionState.ACTIVE, SessionState.ENDED}),
        retry=_UNLESS_OF_NO_USE,
    ),
    RequestKind.EXTRACTION: _BesidePlay(
        priority=Level.LOW.first + 30,
        role=AgentRole.CONTEXT_SUMMARY,
        purpose="memory bank: items of {prompts.named}",
        word="bank",
        runs_in=_LOCKED,
        retry=_READS_AS_IT_GOES,
        again_when_opened=True,
        waits_for_refused=True,
    ),
    RequestKind.EMBEDDING: _BesidePlay(
        priority=Level.LOW.first + 40,
        role=AgentRole.CONTEXT_SUMMARY,
        purpose="memory bank: vectors of its items",
        word="vector",
        runs_in=_LOCKED,
        retry=_AUTOMATIC,
        again_when_opened=True,
    ),
}
