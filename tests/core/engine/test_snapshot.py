"""A session as its writer holds it in memory is what would be read after the same changes."""

from dataclasses import replace
from uuid import UUID

from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, RequestState
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from tests.core.values.sessions import NOW, SESSION_ID, TAB1, delta_block, lock_block, play, session

BEFORE = Snapshot(
    session=session(prompts=1), tab1=TAB1, blocks=(lock_block(),), recent=tuple(play(1, 1)), draft_count=2
)


def asked(number: int, state: RequestState) -> ReplyRequest:
    return ReplyRequest(
        id=RequestId(UUID(int=number)),
        session_id=SESSION_ID,
        state=state,
        slot=Slot.RED,
        text=f"Prompt {number}",
        created_at=NOW,
        updated_at=NOW,
    )


def test_what_is_not_changed_stays() -> None:
    assert BEFORE.after(Changes(session_id=SESSION_ID)) == BEFORE


def test_events_and_blocks_are_added_at_their_end() -> None:
    events, block = tuple(play(2, 2)), delta_block(1)
    session = replace(BEFORE.session, prompt_index=BEFORE.session.prompt_index + 2)
    after = BEFORE.after(Changes(session_id=SESSION_ID, session=session, events=events, blocks=(block,)))
    assert after.recent == (*BEFORE.recent, *events)
    assert after.blocks == (lock_block(), block)


def test_memory_that_was_not_read_yet_stays_unread() -> None:
    unread = replace(BEFORE, blocks=(), is_memory_known=False)
    after = unread.after(Changes(session_id=SESSION_ID, blocks=(delta_block(1),)))
    assert after.blocks == ()
    assert not after.is_memory_known


def test_a_text_for_a_composer_takes_the_place_of_the_one_before_and_an_empty_one_clears_it() -> None:
    before = replace(BEFORE, unsent={Slot.RED: "one", Slot.ORANGE: "two"})
    after = before.after(Changes(session_id=SESSION_ID, unsent={Slot.RED: "", Slot.YELLOW: "three"}))
    assert after.unsent == {Slot.ORANGE: "two", Slot.YELLOW: "three"}


def test_requests_are_replaced_by_id_and_those_that_are_over_go() -> None:
    waiting, failed = asked(1, RequestState.PENDING), asked(2, RequestState.FAILED)
    before = replace(BEFORE, requests=(waiting, failed))
    working, third = asked(1, RequestState.PROCESSING), asked(3, RequestState.PENDING)
    assert before.after(Changes(session_id=SESSION_ID, requests=(working, third))).requests == (
        working,
        failed,
        third,
    )
    for over in (RequestState.DONE, RequestState.CANCELLED):
        changes = Changes(session_id=SESSION_ID, requests=(asked(1, over),))
        assert before.after(changes).requests == (failed,)
