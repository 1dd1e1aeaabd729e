"""The state machine: one table, read by the engine and by the screens to know what is possible (design 5).

State and command in, state out; no clock and no input or output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.domain.errors import IllegalCommandError
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState

S = SessionState


class Command(StrEnum):
    """Commands of the GM, and outcomes of requests."""

    EDIT_TAB1 = "edit tab 1"
    LOCK = "lock"
    LOCK_STORED = "lock block stored"
    LOCK_FAILED = "lock failed or cancelled"
    SUBMIT_PROMPT = "submit a prompt"
    REPLY_STORED = "reply stored"
    REPLY_FAILED = "reply failed or cancelled"
    ASK_AGAIN = "ask for another take"
    TAKE_FAILED = "take failed or cancelled"
    LEAVE_OUT = "leave a reply out"
    CHOOSE_TAKE = "choose another take"
    KEEP_PARTIAL = "keep a stopped reply"
    UNDO = "undo a prompt"
    PROMPT_UNDONE = "prompt undone"
    REDO = "redo a prompt"
    REBUILD_BLOCK = "rebuild memory"
    EDIT_BLOCK = "edit memory"
    SUMMARISE_EARLY = "summarise early"
    RETRY_SUMMARY = "retry the summary"
    SUMMARY_STORED = "delta stored"
    SUMMARY_FAILED = "summary failed"
    END_CHAPTER = "end the chapter"
    CORRECT_CANON = "correct canon"
    DEFINE_NARRATIVE = "define the narrative"
    EDIT_PROMPT_BLOCKS = "edit the prompt blocks"
    EDIT_LORE = "change the lorebooks"
    SET_PRESENT = "change who is present"
    ADD_LINE = "add a line"
    EDIT_SECRETS = "edit the secrets"
    SET_STATUS = "change what models are sent"
    DIRECT_CAST = "change what characters may do"
    LET_ADD = "choose who adds something unasked"
    KEEP_BANK = "keep a memory bank"
    SET_LANGUAGE = "set the language of the story"
    BUILD_NARRATIVE = "build the narrative"
    NARRATIVE_STORED = "draft stored"
    NARRATIVE_FAILED = "narrative failed or cancelled"
    RESET = "reset the chapter"


@dataclass(frozen=True, slots=True)
class Facts:
    """The inputs of the guards, besides state and command."""

    unsummarised: int = 0
    """Number of prompts beyond the boundary that have all of their replies."""
    chunk_size: int = 7
    is_ending: bool = False
    has_setting: bool = True
    """There is a world or a chapter text."""
    has_open_reply: bool = False
    summary_waits: bool = False
    """A failed summary waits for its back-off; replies do not start it before then."""
    begun: int = 0
    """Number of prompts of the current chunk that are already in memory."""
    early_failed: bool = False
    """A summary that was tried before its chunk was full has failed."""
    prompts: int = 0
    """Number of canon prompts."""
    undone: int = 0
    """Number of events that redo can restore."""

    @property
    def is_chunk_due(self) -> bool:
        """Whether a full chunk is unsummarised."""
        return self.begun + self.unsummarised >= self.chunk_size


def facts_of(
    session: Session, tab1: Tab1Inputs, *, has_open_reply: bool = False, awaits_reply: bool = False
) -> Facts:
    """Gather the facts of a session but for failed summaries and undone events.

    With `awaits_reply` the newest prompt has not all of its replies.
    """
    return Facts(
        unsummarised=max(0, session.unsummarised - int(awaits_reply)),
        chunk_size=session.limits.chunk_size,
        is_ending=session.is_ending,
        has_setting=not tab1.is_blank,
        has_open_reply=has_open_reply,
        begun=session.boundary % session.limits.chunk_size,
        prompts=session.prompt_index,
    )


@dataclass(frozen=True, slots=True)
class Target:
    """Result of a command: the new state, and whether the chapter is ending."""

    state: SessionState
    is_ending: bool = False


Guard = Callable[[Facts], bool]


def _always(_: Facts) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Move:
    """One row of the table: applies when its guard holds and no earlier row's did."""

    to: SessionState
    when: Guard = _always
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that refuses: the sentence says what to do instead."""

    sentence: str
    when: Guard = _always


@dataclass(frozen=True, slots=True)
class Stay:
    """A row that allows the command and keeps the state."""

    when: Guard = _always


Row = Move | Stay | Refusal
NOTHING_TO_SUMMARISE: Final = "There is nothing to summarise now; play on."
NOTHING_TO_LOCK: Final = "Write a world or a chapter first; there is nothing to lock yet."
NOTHING_PLAYED: Final = "No prompt was played yet; send one first."


def _is_chunk_due(facts: Facts) -> bool:
    return facts.is_chunk_due and not facts.summary_waits


def _is_ending(facts: Facts) -> bool:
    return facts.is_ending


def _must_finish_memory(facts: Facts) -> bool:
    return facts.is_ending and facts.unsummarised > 0


_ENDING = Refusal("The chapter is being ended; wait for the last summary.", _is_ending)
_NO_PROMPT = Refusal(NOTHING_PLAYED, lambda facts: facts.prompts == 0)
_BUSY = Refusal(
    "A reply is still being written; wait until it is done, or cancel it.", lambda facts: facts.has_open_reply
)
_ENDED = Refusal("The chapter has ended and stays as it is; branch it at a prompt to play on from there.")
_NOTHING_UNDONE = Refusal("Nothing was undone; there is nothing to redo.", lambda facts: facts.undone == 0)
_AFTER_CHANGE = (Move(S.SUMMARIZING, _is_chunk_due), Move(S.ACTIVE))
"""A running summary is cancelled by a change of canon; if its chunk is still complete, it is made again."""


def _of_takes() -> dict[tuple[SessionState, Command], tuple[Row, ...]]:
    """Return the rows of takes, undo and rebuilt memory (design 12)."""
    rows: dict[tuple[SessionState, Command], tuple[Row, ...]] = {}
    for state, refusals in ((S.ACTIVE, ()), (S.SUMMARIZING, (_ENDING,))):
        guards = (*refusals, _BUSY, _NO_PROMPT)
        rows[state, Command.ASK_AGAIN] = (*guards, Move(S.ACTIVE))
        rows[state, Command.CHOOSE_TAKE] = (*guards, *_AFTER_CHANGE)
        rows[state, Command.UNDO] = (*guards, Stay())
        rows[state, Command.PROMPT_UNDONE] = _AFTER_CHANGE
        rows[state, Command.REDO] = (*refusals, _NOTHING_UNDONE, _BUSY, Stay())
    rows[S.ACTIVE, Command.TAKE_FAILED] = _AFTER_CHANGE
    rows[S.ACTIVE, Command.KEEP_PARTIAL] = (_BUSY, Stay())
    rows[S.ACTIVE, Command.REBUILD_BLOCK] = (_BUSY, Move(S.SUMMARIZING))
    rows[S.ACTIVE, Command.EDIT_BLOCK] = (Stay(),)
    ended = ("ASK_AGAIN", "CHOOSE_TAKE", "UNDO", "REDO", "REBUILD_BLOCK", "EDIT_BLOCK", "KEEP_PARTIAL")
    rows |= {(state, Command[name]): (_ENDED,) for state in (S.ENDED, S.NARRATING) for name in ended}
    return rows


TABLE: dict[tuple[SessionState, Command], tuple[Row, ...]] = {
    (S.DRAFT_TAB1, Command.EDIT_TAB1): (Stay(),),
    (S.DRAFT_TAB1, Command.LOCK): (
        Refusal(NOTHING_TO_LOCK, lambda facts: not facts.has_setting),
        Move(S.LOCKING),
    ),
    # A chapter that was a chat has prompts before it is locked.
    (S.LOCKING, Command.LOCK_STORED): (Move(S.SUMMARIZING, _is_chunk_due), Move(S.ACTIVE)),
    (S.LOCKING, Command.LOCK_FAILED): (Move(S.DRAFT_TAB1),),
    # A new prompt cancels an end that could not be completed: the chapter goes on.
    (S.ACTIVE, Command.SUBMIT_PROMPT): (Move(S.ACTIVE),),
    (S.ACTIVE, Command.REPLY_STORED): (Move(S.SUMMARIZING, _is_chunk_due), Move(S.ACTIVE)),
    (S.ACTIVE, Command.REPLY_FAILED): (Move(S.ACTIVE),),
    (S.ACTIVE, Command.LEAVE_OUT): (Move(S.SUMMARIZING, _is_chunk_due), Move(S.ACTIVE)),
    (S.SUMMARIZING, Command.LEAVE_OUT): (Stay(),),
    # For a prompt that fits no input beside the story text that is not in memory yet.
    (S.ACTIVE, Command.SUMMARISE_EARLY): (
        Refusal(NOTHING_TO_SUMMARISE, lambda facts: facts.unsummarised == 0),
        Move(S.SUMMARIZING),
    ),
    (S.ACTIVE, Command.RETRY_SUMMARY): (
        Move(S.SUMMARIZING, _must_finish_memory, is_ending=True),
        Move(S.SUMMARIZING, lambda facts: facts.is_chunk_due),
        Move(S.SUMMARIZING, lambda facts: facts.early_failed and facts.unsummarised > 0),
        Refusal(NOTHING_TO_SUMMARISE),
    ),
    (S.ACTIVE, Command.END_CHAPTER): (
        Refusal(
            "A reply is still being written; wait until it is done, or cancel it, then end the chapter.",
            lambda facts: facts.has_open_reply,
        ),
        Move(S.SUMMARIZING, lambda facts: facts.unsummarised > 0, is_ending=True),
        Move(S.ENDED),
    ),
    (S.SUMMARIZING, Command.SUBMIT_PROMPT): (_ENDING, Stay()),
    (S.SUMMARIZING, Command.SUMMARY_STORED): (
        Move(S.SUMMARIZING, _must_finish_memory, is_ending=True),
        Move(S.ENDED, _is_ending),
        Move(S.SUMMARIZING, _is_chunk_due),
        Move(S.ACTIVE),
    ),
    # A failed summary does not cancel the end: its retry ends the chapter.
    (S.SUMMARIZING, Command.SUMMARY_FAILED): (Move(S.ACTIVE, _is_ending, is_ending=True), Move(S.ACTIVE)),
    (S.ENDED, Command.BUILD_NARRATIVE): (Move(S.NARRATING),),
    (S.NARRATING, Command.NARRATIVE_STORED): (Move(S.ENDED),),
    (S.NARRATING, Command.NARRATIVE_FAILED): (Move(S.ENDED),),
    **_of_takes(),
    **{(state, Command.SET_PRESENT): (Stay(),) for state in (S.ACTIVE, S.SUMMARIZING)},
    (S.ACTIVE, Command.ADD_LINE): (_BUSY, Stay()),
    (S.SUMMARIZING, Command.ADD_LINE): (_ENDING, _BUSY, Stay()),
    **{(state, Command.EDIT_SECRETS): (Stay(),) for state in (S.DRAFT_TAB1, S.ACTIVE, S.SUMMARIZING)},
    **{(state, Command.DIRECT_CAST): (Stay(),) for state in (S.DRAFT_TAB1, S.ACTIVE, S.SUMMARIZING)},
    # A correction only adds a block: existing blocks and the state stay as they are.
    **{(state, Command.CORRECT_CANON): (Stay(),) for state in (S.ACTIVE, S.SUMMARIZING, S.ENDED)},
    **{(state, Command.DEFINE_NARRATIVE): (Stay(),) for state in S if state is not S.RESETTING},
    **{(state, Command.LET_ADD): (Stay(),) for state in S if state is not S.RESETTING},
    **{(state, Command.KEEP_BANK): (Stay(),) for state in S if state is not S.RESETTING},
    **{(state, Command.SET_LANGUAGE): (Stay(),) for state in S if state is not S.RESETTING},
    **{(state, Command.EDIT_PROMPT_BLOCKS): (Stay(),) for state in S if state is not S.RESETTING},
    **{(state, Command.SET_STATUS): (Stay(),) for state in S if state is not S.RESETTING},
    **{(state, Command.EDIT_LORE): (Stay(),) for state in S if state not in (S.RESETTING, S.LOCKING)},
    **{(state, Command.RESET): (Move(S.RESETTING),) for state in S if state is not S.RESETTING},
}

_NEXT_STEPS: dict[SessionState, str] = {
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
    return IllegalCommandError(f"It is not possible to {command.value} now. {_NEXT_STEPS[state]}")


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
