"""The state machine: every pair of state and command, both ways, as one table (design 5)."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.session.session import Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command, Facts, Target, decide, facts_of, refusal, step
from tests.core.values.sessions import TAB1, session

S, C = SessionState, Command

PLAIN = Facts(unsummarised=3)
FULL = Facts(unsummarised=7)
NOTHING_NEW = Facts(unsummarised=0)
LAST_ONES = Facts(unsummarised=3, is_ending=True)
ALL_DONE = Facts(unsummarised=0, is_ending=True)
BLANK = Facts(has_setting=False)
BUSY = Facts(unsummarised=3, has_open_reply=True)
EARLY_FAILED = Facts(unsummarised=3, early_failed=True)
BEGUN = Facts(unsummarised=4, begun=3)
BACKING_OFF = Facts(unsummarised=9, summary_waits=True)

PLAYED = Facts(unsummarised=3, prompts=3)
PLAYED_FULL = Facts(unsummarised=7, prompts=7)
PLAYED_ENDING = Facts(unsummarised=3, prompts=3, is_ending=True)
PLAYED_BUSY = Facts(unsummarised=3, prompts=3, has_open_reply=True)
UNDONE = Facts(unsummarised=3, prompts=3, undone=2)

STAYS = object()

# (state, command) -> facts and where they lead: a state, a state with "ending", or None when refused.
ALLOWED: dict[tuple[SessionState, Command], list[tuple[Facts, object]]] = {
    (S.DRAFT_TAB1, C.EDIT_TAB1): [(PLAIN, STAYS), (BLANK, STAYS)],
    (S.DRAFT_TAB1, C.LOCK): [(PLAIN, S.LOCKING), (BLANK, None)],
    (S.LOCKING, C.LOCK_STORED): [(PLAIN, S.ACTIVE)],
    (S.LOCKING, C.LOCK_FAILED): [(PLAIN, S.DRAFT_TAB1)],
    (S.ACTIVE, C.SUBMIT_PROMPT): [(PLAIN, S.ACTIVE), (FULL, S.ACTIVE), (LAST_ONES, S.ACTIVE)],
    (S.ACTIVE, C.REPLY_STORED): [
        (PLAIN, S.ACTIVE),
        (FULL, S.SUMMARIZING),
        (BEGUN, S.SUMMARIZING),
        (BACKING_OFF, S.ACTIVE),
    ],
    (S.ACTIVE, C.REPLY_FAILED): [(PLAIN, S.ACTIVE), (FULL, S.ACTIVE)],
    (S.ACTIVE, C.SUMMARISE_EARLY): [(PLAIN, S.SUMMARIZING), (NOTHING_NEW, None)],
    (S.ACTIVE, C.RETRY_SUMMARY): [
        (EARLY_FAILED, S.SUMMARIZING),
        (PLAIN, None),
        (FULL, S.SUMMARIZING),
        (BACKING_OFF, S.SUMMARIZING),
        (LAST_ONES, (S.SUMMARIZING, "ending")),
    ],
    (S.ACTIVE, C.END_CHAPTER): [
        (BUSY, None),
        (PLAIN, (S.SUMMARIZING, "ending")),
        (FULL, (S.SUMMARIZING, "ending")),
        (NOTHING_NEW, S.ENDED),
    ],
    (S.SUMMARIZING, C.SUBMIT_PROMPT): [(PLAIN, STAYS), (LAST_ONES, None)],
    (S.SUMMARIZING, C.SUMMARY_STORED): [
        (PLAIN, S.ACTIVE),
        (FULL, S.SUMMARIZING),
        (LAST_ONES, (S.SUMMARIZING, "ending")),
        (ALL_DONE, S.ENDED),
    ],
    (S.SUMMARIZING, C.SUMMARY_FAILED): [(FULL, S.ACTIVE), (LAST_ONES, (S.ACTIVE, "ending"))],
    (S.ENDED, C.BUILD_NARRATIVE): [(NOTHING_NEW, S.NARRATING)],
    (S.NARRATING, C.NARRATIVE_STORED): [(NOTHING_NEW, S.ENDED)],
    (S.NARRATING, C.NARRATIVE_FAILED): [(NOTHING_NEW, S.ENDED)],
    **{(state, C.CORRECT_CANON): [(PLAIN, STAYS)] for state in (S.ACTIVE, S.SUMMARIZING, S.ENDED)},
    **{(state, C.DEFINE_NARRATIVE): [(PLAIN, STAYS)] for state in S if state is not S.RESETTING},
    **{(state, C.LET_ADD): [(PLAIN, STAYS)] for state in S if state is not S.RESETTING},
    **{(state, C.KEEP_BANK): [(PLAIN, STAYS)] for state in S if state is not S.RESETTING},
    **{(state, C.SET_LANGUAGE): [(PLAIN, STAYS)] for state in S if state is not S.RESETTING},
    **{(state, C.EDIT_PROMPT_BLOCKS): [(PLAIN, STAYS)] for state in S if state is not S.RESETTING},
    **{(state, C.SET_STATUS): [(PLAIN, STAYS)] for state in S if state is not S.RESETTING},
    **{(state, C.EDIT_LORE): [(PLAIN, STAYS)] for state in S if state not in (S.RESETTING, S.LOCKING)},
    **{(state, C.SET_PRESENT): [(PLAIN, STAYS)] for state in (S.ACTIVE, S.SUMMARIZING)},
    (S.ACTIVE, C.ADD_LINE): [(PLAIN, STAYS), (BUSY, None)],
    (S.SUMMARIZING, C.ADD_LINE): [(PLAIN, STAYS), (BUSY, None), (PLAYED_ENDING, None)],
    **{(state, C.EDIT_SECRETS): [(PLAIN, STAYS)] for state in (S.DRAFT_TAB1, S.ACTIVE, S.SUMMARIZING)},
    **{(state, C.DIRECT_CAST): [(PLAIN, STAYS)] for state in (S.DRAFT_TAB1, S.ACTIVE, S.SUMMARIZING)},
    **{(state, C.RESET): [(PLAIN, S.RESETTING)] for state in S if state is not S.RESETTING},
}

CHANGED = [(PLAIN, S.ACTIVE), (FULL, S.SUMMARIZING), (BACKING_OFF, S.ACTIVE)]
for busy in (S.ACTIVE, S.SUMMARIZING):
    is_ending = [(PLAYED_ENDING, None)] if busy is S.SUMMARIZING else []
    ALLOWED |= {
        (busy, C.ASK_AGAIN): [(PLAIN, None), (PLAYED_BUSY, None), (PLAYED_FULL, S.ACTIVE), *is_ending],
        (busy, C.CHOOSE_TAKE): [(PLAIN, None), (PLAYED_BUSY, None), (PLAYED, S.ACTIVE), *is_ending],
        (busy, C.UNDO): [(PLAIN, None), (PLAYED_BUSY, None), (PLAYED, STAYS), *is_ending],
        (busy, C.REDO): [(PLAYED, None), (replace(UNDONE, has_open_reply=True), None), (UNDONE, STAYS)],
        (busy, C.PROMPT_UNDONE): list(CHANGED),
    }
    ALLOWED[busy, C.CHOOSE_TAKE].append((PLAYED_FULL, S.SUMMARIZING))
ALLOWED |= {
    (S.ACTIVE, C.TAKE_FAILED): list(CHANGED),
    (S.ACTIVE, C.LEAVE_OUT): list(CHANGED),
    (S.SUMMARIZING, C.LEAVE_OUT): [(PLAIN, STAYS), (FULL, STAYS)],
    (S.ACTIVE, C.KEEP_PARTIAL): [(PLAIN, STAYS), (BUSY, None)],
    (S.ACTIVE, C.EDIT_BLOCK): [(PLAIN, STAYS)],
    (S.ACTIVE, C.REBUILD_BLOCK): [(PLAIN, S.SUMMARIZING), (BUSY, None)],
}

PAIRS = list(itertools.product(S, C))
MOVES = [(*pair, facts, to) for pair, rows in ALLOWED.items() for facts, to in rows]

all_facts = st.builds(
    Facts,
    unsummarised=st.integers(0, 30),
    is_ending=st.booleans(),
    has_setting=st.booleans(),
    has_open_reply=st.booleans(),
    summary_waits=st.booleans(),
    prompts=st.integers(0, 30),
    undone=st.integers(0, 4),
)


@pytest.mark.parametrize(("state", "command", "facts", "to"), MOVES)
def test_every_row_leads_where_the_design_says(
    state: SessionState, command: Command, facts: Facts, to: object
) -> None:
    outcome = decide(state, command, facts)
    if to is None:
        assert isinstance(outcome, IllegalCommandError)
    elif to is STAYS:
        assert outcome == Target(state, facts.is_ending)
    elif isinstance(to, tuple):
        assert outcome == Target(to[0], is_ending=True)
    else:
        assert outcome == Target(SessionState(str(to)), is_ending=False)


@given(facts=all_facts)
def test_every_other_pair_is_refused_with_a_sentence(facts: Facts) -> None:
    for state, command in PAIRS:
        outcome = decide(state, command, facts)
        asked = f"{command} in {state}"
        if (state, command) not in ALLOWED:
            assert isinstance(outcome, IllegalCommandError), asked
        if isinstance(outcome, IllegalCommandError):
            assert outcome.code is ErrorCode.ILLEGAL_COMMAND, asked
            assert outcome.message.endswith((".", "!")), asked
            assert len(outcome.message.split()) > 6, asked
            assert refusal(state, command, facts), asked
            with pytest.raises(IllegalCommandError, match=outcome.message[:10]):
                step(state, command, facts)
        else:
            assert step(state, command, facts) == outcome, asked
            assert not refusal(state, command, facts), asked


def test_nothing_leaves_resetting() -> None:
    assert all(refusal(S.RESETTING, command, FULL) for command in C)


@given(st.lists(st.tuples(st.sampled_from(C), all_facts), max_size=40))
def test_whatever_is_asked_an_ending_chapter_is_one_that_still_has_to_be_summarised(
    asked: list[tuple[Command, Facts]],
) -> None:
    state = S.DRAFT_TAB1
    for command, facts in asked:
        outcome = decide(state, command, facts)
        if not isinstance(outcome, Target):
            continue
        if outcome.is_ending and outcome.state is not state:
            assert outcome.state in (S.SUMMARIZING, S.ACTIVE)
        if outcome.state is S.ENDED and state is S.ACTIVE:
            assert facts.unsummarised == 0
        state = outcome.state


@pytest.mark.parametrize("state", S)
def test_a_reset_is_possible_from_any_state_but_its_own(state: SessionState) -> None:
    assert (not refusal(state, C.RESET, PLAIN)) == (state is not S.RESETTING)


def test_facts_are_those_of_the_session() -> None:
    facts = facts_of(session(prompts=9, boundary=2), TAB1, has_open_reply=True)
    known = Facts(unsummarised=7, chunk_size=7, begun=2, has_open_reply=True, prompts=9)
    assert facts == known
    assert facts.is_chunk_due
    assert not facts_of(session(), Tab1Inputs(world=" \n", chapter="\t")).has_setting
