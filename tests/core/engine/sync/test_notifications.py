"""What listeners hear of a change: what is new, in the order in which it can be understood."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from core.domain.errors import ErrorCode
from core.domain.ids import DraftId, RequestId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Request, RequestRecord, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft, SourceSnapshot
from core.domain.story.event import Event
from core.engine.sync.change_feed import diff_snapshots, notifications_for
from core.engine.sync.notifications import (
    EventsAppended,
    MemoryAppended,
    RequestBegun,
    RequestFailed,
    RequestSettled,
    SessionChanged,
    UnsentChanged,
)
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from tests.core.values.sessions import NOW, SESSION_ID, TAB1, lock_block, play, session

BEFORE = Snapshot(session=session(prompts=1), tab1=TAB1)


def test_a_session_that_was_stored_as_it_was_is_no_news() -> None:
    assert notifications_for(BEFORE, Changes(session_id=SESSION_ID)) == []
    assert notifications_for(BEFORE, Changes(session_id=SESSION_ID, session=session(prompts=1))) == []


@pytest.mark.parametrize("change", [{"prompt_index": 2}, {"state": SessionState.ACTIVE}, {"title": "Ice"}])
def test_a_session_that_is_otherwise_than_before_is_told_of(change: dict[str, object]) -> None:
    changed = replace(BEFORE.session, **change)  # type: ignore[arg-type]  # each is of its field's type
    assert notifications_for(BEFORE, Changes(session_id=SESSION_ID, session=changed)) == [
        SessionChanged(changed)
    ]


def test_what_was_played_is_heard_before_what_became_of_the_session() -> None:
    changed, events, block = session(prompts=2), tuple(play(2, 2)), lock_block()
    changes = Changes(
        session_id=SESSION_ID, session=changed, events=events, blocks=(block,), unsent={Slot.RED: "And"}
    )
    assert notifications_for(BEFORE, changes) == [
        EventsAppended(events),
        MemoryAppended(block),
        UnsentChanged(Slot.RED, "And"),
        SessionChanged(changed),
    ]


def gone(kind: RequestKind, **more: Any) -> Request:
    return RequestRecord(
        id=RequestId(UUID(int=5)), session_id=SESSION_ID, kind=kind, created_at=NOW, updated_at=NOW, **more
    ).request()


LOCKED = replace(BEFORE.session, tab1_locked=True)
REPLIED = [replace(play(1, 1)[0], metadata={"request_id": str(UUID(int=5))})]
DRAFT = NarrativeDraft(
    id=DraftId(UUID(int=6)),
    session_id=SESSION_ID,
    version=1,
    request_id=RequestId(UUID(int=5)),
    definition="",
    target_words=None,
    source=SourceSnapshot(1, ()),
    model="m",
    text="Once.",
    created_at=NOW,
)


@pytest.mark.parametrize(
    ("request_gone", "now", "events", "drafts", "state"),
    [
        (gone(RequestKind.LOCK), LOCKED, (), (), RequestState.DONE),
        (gone(RequestKind.LOCK), BEFORE.session, (), (), RequestState.CANCELLED),
        (gone(RequestKind.REPLY, slot=Slot.RED), LOCKED, REPLIED, (), RequestState.DONE),
        (gone(RequestKind.REPLY, slot=Slot.RED), LOCKED, play(1, 1), (), RequestState.CANCELLED),
        (
            gone(RequestKind.SUMMARY, prompts=PromptRange(1, 7)),
            replace(LOCKED, boundary=7),
            (),
            (),
            RequestState.DONE,
        ),
        (
            gone(RequestKind.SUMMARY, prompts=PromptRange(1, 7)),
            replace(LOCKED, boundary=6),
            (),
            (),
            RequestState.CANCELLED,
        ),
        (gone(RequestKind.NARRATIVE), LOCKED, (), (DRAFT,), RequestState.DONE),
        (
            gone(RequestKind.NARRATIVE),
            LOCKED,
            (),
            (replace(DRAFT, request_id=None),),
            RequestState.CANCELLED,
        ),
    ],
)
def test_a_call_that_is_no_longer_listed_ended_well_where_what_it_asked_for_is_there(
    request_gone: Request,
    now: Session,
    events: Sequence[Event],
    drafts: Sequence[NarrativeDraft],
    state: RequestState,
) -> None:
    before = replace(BEFORE, requests=(request_gone,))
    news = diff_snapshots(before, replace(BEFORE, session=now), events, (), drafts)
    [settled] = news.requests
    assert (settled.id, settled.state) == (request_gone.id, state)
    assert RequestSettled(settled) in news.notifications


def test_a_call_that_is_as_it_was_is_no_news_and_one_that_changed_is() -> None:
    waits = gone(RequestKind.LOCK)
    before = replace(BEFORE, requests=(waits,))
    assert diff_snapshots(before, before, (), (), ()).notifications == ()
    runs = replace(waits, state=RequestState.PROCESSING)
    failed = replace(waits, state=RequestState.FAILED, error_code=ErrorCode.LLM_TIMEOUT)
    assert diff_snapshots(before, replace(before, requests=(runs,)), (), (), ()).notifications == (
        RequestBegun(runs),
    )
    notifications = diff_snapshots(before, replace(before, requests=(failed,)), (), (), ()).notifications
    assert [type(notification) for notification in notifications] == [RequestFailed]
    assert isinstance(notifications[0], RequestFailed)
    assert notifications[0].error.code is ErrorCode.LLM_TIMEOUT


def test_a_text_that_came_to_or_left_a_composer_is_news() -> None:
    before = replace(BEFORE, unsent={Slot.RED: "One", Slot.ORANGE: "Two"})
    now = replace(BEFORE, unsent={Slot.RED: "One", Slot.YELLOW: "Three"})
    assert set(diff_snapshots(before, now, (), (), ()).notifications) == {
        UnsentChanged(Slot.ORANGE, ""),
        UnsentChanged(Slot.YELLOW, "Three"),
    }
