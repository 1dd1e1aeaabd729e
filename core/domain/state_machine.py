"""The state machine: one table, read by the engine and by the screens to know what is possible (design 5).

State and command in, state out; no clock and no input or output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from core.domain.errors import IllegalCommandError
from core.domain.session import Session, SessionState, Tab1Inputs

S = SessionState


class Command(StrEnum):
    """What the GM asks for, and what the executor reports."""

    EDIT_TAB1 = "edit tab 1"
    LOCK = "lock"
    LOCK_STORED = "lock block stored"
    LOCK_FAILED = "lock failed or cancelled"
    SUBMIT_PROMPT = "submit a prompt"
    REPLY_STORED = "reply stored"
    REPLY_FAILED = "reply failed or cancelled"
    SUMMARISE_EARLY = "summarise early"
    RETRY_SUMMARY = "retry the summary"
    SUMMARY_STORED = "delta stored"
    SUMMARY_FAILED = "summary failed"
    END_CHAPTER = "end the chapter"
    CORRECT_CANON = "correct canon"
    DEFINE_NARRATIVE = "define the narrative"
    BUILD_NARRATIVE = "build the narrative"
    NARRATIVE_STORED = "draft stored"
    NARRATIVE_FAILED = "narrative failed or cancelled"
    RESET = "reset the chapter"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the guards look at besides state and command."""

    unsummarised: int = 0
    chunk_size: int = 7
    is_ending: bool = False
    has_setting: bool = True
    """There is a world or a chapter text."""
    has_open_reply: bool = False
    summary_waits: bool = False
    """A failed summary waits for its back-off; replies do not start it before then."""
    begun: int = 0
    """How many prompts of the chunk that is being played are in memory already."""
    early_failed: bool = False
    """A summary that was tried before its chunk was full has failed."""

    @property
    def is_chunk_due(self) -> bool:
        """Whether a full chunk is unsummarised."""
        return self.begun + self.unsummarised >= self.chunk_size


def facts_of(
    session: Session,
    tab1: Tab1Inputs,
    *,
    has_open_reply: bool = False,
    summary_waits: bool = False,
    early_failed: bool = False,
) -> Facts:
    """Gather the facts of a session."""
    return Facts(
        unsummarised=session.unsummarised,
        chunk_size=session.limits.chunk_size,
        is_ending=session.is_ending,
        has_setting=not tab1.is_blank,
        has_open_reply=has_open_reply,
        summary_waits=summary_waits,
        begun=session.boundary % session.limits.chunk_size,
        early_failed=early_failed,
    )


@dataclass(frozen=True, slots=True)
class Target:
    """Where a command leads: the new state, and whether the chapter is being ended."""

    state: SessionState
    is_ending: bool = False


Guard = Callable[[Facts], bool]


@dataclass(frozen=True, slots=True)
class Arrow:
    """One row of the table: taken when its guard holds and no earlier row's did."""

    to: SessionState
    when: Guard
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that refuses: the sentence says what to do instead."""

    sentence: str
    when: Guard


def _always(_: Facts) -> bool:
    return True


def _no_setting(facts: Facts) -> bool:
    return not facts.has_setting


def _replies_are_open(facts: Facts) -> bool:
    return facts.has_open_reply


def _chunk_due(facts: Facts) -> bool:
    return facts.is_chunk_due and not facts.summary_waits


def _chunk_due_or_ending(facts: Facts) -> bool:
    return facts.is_chunk_due or (facts.is_ending and facts.unsummarised > 0)


def _nothing_new(facts: Facts) -> bool:
    return facts.unsummarised == 0


def _early_failed(facts: Facts) -> bool:
    return facts.early_failed


def _unsummarised(facts: Facts) -> bool:
    return facts.unsummarised > 0


def _ending(facts: Facts) -> bool:
    return facts.is_ending


def _ending_and_unsummarised(facts: Facts) -> bool:
    return facts.is_ending and facts.unsummarised > 0


@dataclass(frozen=True, slots=True)
class Stay:
    """A row that allows the command and changes nothing of the state."""

    when: Guard


Row = Arrow | Stay | Refusal


def _to(state: SessionState, when: Guard = _always, *, is_ending: bool = False) -> Arrow:
    return Arrow(state, when, is_ending)


_STAY = (Stay(_always),)


TABLE: dict[tuple[SessionState, Command], tuple[Row, ...]] = {
    (S.DRAFT_TAB1, Command.EDIT_TAB1): _STAY,
    (S.DRAFT_TAB1, Command.LOCK): (
        Refusal("Write a world or a chapter first; there is nothing to lock yet.", _no_setting),
        _to(S.LOCKING),
    ),
    (S.LOCKING, Command.LOCK_STORED): (_to(S.ACTIVE),),
    (S.LOCKING, Command.LOCK_FAILED): (_to(S.DRAFT_TAB1),),
    # A new prompt takes back an end that could not be completed: the chapter goes on.
    (S.ACTIVE, Command.SUBMIT_PROMPT): (_to(S.ACTIVE),),
    (S.ACTIVE, Command.REPLY_STORED): (_to(S.SUMMARIZING, _chunk_due), _to(S.ACTIVE)),
    (S.ACTIVE, Command.REPLY_FAILED): (_to(S.ACTIVE),),
    # Story text that is not in memory yet does not fit beside the next prompt.
    (S.ACTIVE, Command.SUMMARISE_EARLY): (
        Refusal("There is nothing to summarise now; play on.", _nothing_new),
        _to(S.SUMMARIZING),
    ),
    (S.ACTIVE, Command.RETRY_SUMMARY): (
        _to(S.SUMMARIZING, _ending_and_unsummarised, is_ending=True),
        _to(S.SUMMARIZING, _chunk_due_or_ending),
        _to(S.SUMMARIZING, _early_failed),
        Refusal("There is nothing to summarise now; play on.", _always),
    ),
    (S.ACTIVE, Command.END_CHAPTER): (
        Refusal(
            "A reply is still being written; wait until it is done, or cancel it, then end the chapter.",
            _replies_are_open,
        ),
        _to(S.SUMMARIZING, _unsummarised, is_ending=True),
        _to(S.ENDED),
    ),
    (S.SUMMARIZING, Command.SUBMIT_PROMPT): (
        Refusal("The chapter is being ended; wait for the last summary.", _ending),
        Stay(_always),
    ),
    (S.SUMMARIZING, Command.SUMMARY_STORED): (
        _to(S.SUMMARIZING, _ending_and_unsummarised, is_ending=True),
        _to(S.ENDED, _ending),
        _to(S.SUMMARIZING, _chunk_due),
        _to(S.ACTIVE),
    ),
    # A failed end stays wanted: the retry ends the chapter.
    (S.SUMMARIZING, Command.SUMMARY_FAILED): (_to(S.ACTIVE, _ending, is_ending=True), _to(S.ACTIVE)),
    (S.ENDED, Command.BUILD_NARRATIVE): (_to(S.NARRATING),),
    (S.NARRATING, Command.NARRATIVE_STORED): (_to(S.ENDED),),
    (S.NARRATING, Command.NARRATIVE_FAILED): (_to(S.ENDED),),
    # A correction is a block behind those that are there; nothing of them, and no state, changes.
    **{(state, Command.CORRECT_CANON): _STAY for state in (S.ACTIVE, S.SUMMARIZING, S.ENDED)},
    **{(state, Command.DEFINE_NARRATIVE): _STAY for state in S if state is not S.RESETTING},
    **{(state, Command.RESET): (_to(S.RESETTING),) for state in S if state is not S.RESETTING},
}

_STANDING: dict[SessionState, str] = {
    S.DRAFT_TAB1: "The chapter is not locked yet: set up world and cast, then open tab 2.",
    S.LOCKING: "The chapter is being locked: wait until it is done, or cancel it.",
    S.ACTIVE: "The chapter is being played: send a prompt, or end the chapter.",
    S.SUMMARIZING: "A summary is being made: wait until it is done.",
    S.ENDED: "The chapter has ended: build the narrative, or reset the chapter for a new one.",
    S.NARRATING: "The narrative is being written: wait until it is done, or cancel it.",
    S.RESETTING: "The chapter has been reset: go on in the new one.",
}


def decide(state: SessionState, command: Command, facts: Facts) -> Target | IllegalCommandError:
    """Return where `command` leads from `state`, or the refusal that says what to do instead."""
    for row in TABLE.get((state, command), ()):
        if row.when(facts):
            if isinstance(row, Refusal):
                return IllegalCommandError(row.sentence)
            if isinstance(row, Stay):
                return Target(state, facts.is_ending)
            return Target(row.to, row.is_ending)
    return IllegalCommandError(f"It is not possible to {command.value} now. {_STANDING[state]}")


def step(state: SessionState, command: Command, facts: Facts) -> Target:
    """Return where `command` leads; raise IllegalCommandError when it is refused."""
    outcome = decide(state, command, facts)
    if isinstance(outcome, IllegalCommandError):
        raise outcome
    return outcome


def refusal(state: SessionState, command: Command, facts: Facts) -> str:
    """Return why `command` is refused now and what to do instead; empty when it is possible."""
    outcome = decide(state, command, facts)
    return outcome.message if isinstance(outcome, IllegalCommandError) else ""
