"""What the GM says of events, on every store: replaced one by one, and read with what is always sent."""

from dataclasses import replace

import pytest

from core.domain.story.context_status import ContextStatus, EventStatus
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from tests.store import chapters

pytestmark = pytest.mark.anyio


async def test_a_status_is_replaced_by_itself_and_the_others_stay(store: SessionStore) -> None:
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 2)
    first, second = (EventStatus(prompt, 1, 0, ContextStatus.NEVER) for prompt in (1, 2))
    await store.commit(Changes(session_id=session.id, statuses=(second, first)), lease)
    assert (await store.load(session.id)).statuses == (first, second)
    changed = replace(second, status=ContextStatus.DEFAULT)
    await store.commit(Changes(session_id=session.id, statuses=(changed,)), lease)
    assert (await store.load(session.id)).statuses == (first, changed)


async def test_what_is_always_sent_is_read_from_canon_alone(store: SessionStore) -> None:
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 9)
    always = tuple(EventStatus(prompt, 1, 0, ContextStatus.ALWAYS) for prompt in (1, 9))
    await store.commit(Changes(session_id=session.id, statuses=always), lease)
    assert (await store.load(session.id)).kept == ()
    moved = replace(session, boundary=7)
    await store.commit(
        Changes(session_id=session.id, session=moved, blocks=(chapters.delta(session, 1, 7),)), lease
    )
    assert (await store.load(session.id)).kept == ()
    session = await chapters.play(store, moved, lease, 5)
    moved = replace(session, boundary=14)
    await store.commit(
        Changes(session_id=session.id, session=moved, blocks=(chapters.delta(session, 8, 14),)), lease
    )
    loaded = await store.load(session.id)
    assert [event.place for event in loaded.kept] == [(1, 0)]
    assert [event.place for event in loaded.recent][:2] == [(8, 0), (8, 1)]
