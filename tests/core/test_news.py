"""What listeners hear of a change: what is new, in the order in which it can be understood."""

from dataclasses import replace

import pytest

from core.engine.news import notices_of
from core.engine.notices import EventsAppended, MemoryAppended, SessionChanged, UnsentChanged
from core.session import SessionState
from core.slot import Slot
from core.store import Changes, Snapshot
from tests.core.samples import SESSION_ID, TAB1, lock_block, play, session

BEFORE = Snapshot(session=session(prompts=1), tab1=TAB1)


def test_a_session_that_was_stored_as_it_was_is_no_news() -> None:
    assert notices_of(BEFORE, Changes(session_id=SESSION_ID)) == []
    assert notices_of(BEFORE, Changes(session_id=SESSION_ID, session=session(prompts=1))) == []


@pytest.mark.parametrize("change", [{"prompt_index": 2}, {"state": SessionState.ACTIVE}, {"title": "Ice"}])
def test_a_session_that_is_otherwise_than_before_is_told_of(change: dict[str, object]) -> None:
    changed = replace(BEFORE.session, **change)  # type: ignore[arg-type]  # each is of its field's type
    assert notices_of(BEFORE, Changes(session_id=SESSION_ID, session=changed)) == [SessionChanged(changed)]


def test_what_was_played_is_heard_before_what_became_of_the_session() -> None:
    changed, events, block = session(prompts=2), tuple(play(2, 2)), lock_block()
    changes = Changes(
        session_id=SESSION_ID, session=changed, events=events, blocks=(block,), unsent={Slot.RED: "And"}
    )
    assert notices_of(BEFORE, changes) == [
        EventsAppended(events),
        MemoryAppended(block),
        UnsentChanged(Slot.RED, "And"),
        SessionChanged(changed),
    ]
