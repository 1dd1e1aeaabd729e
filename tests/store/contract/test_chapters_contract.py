"""What every list of chapters promises: it shows what there is, until that is archived or purged."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.domain.errors import SessionLockedError, StorageError
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore
from tests.store import chapters
from tests.store.chapters import NOW
from tests.store.contract.conftest import OpenWindow

pytestmark = pytest.mark.anyio


async def test_the_list_shows_what_was_played_last_first(store: SessionStore) -> None:
    old = chapters.new_session(updated_at=NOW)
    new = chapters.new_session(title="Named", updated_at=NOW + timedelta(days=1))
    blank = chapters.new_session(updated_at=NOW - timedelta(days=1))
    for session in (old, new):
        tab1 = Tab1Inputs(
            world="World.", chapter=" \n" * 400 + "At the gate a guard waits for nobody at all today."
        )
        await store.chapters.create(chapters.creation(session, tab1))
    await store.chapters.create(chapters.creation(blank, Tab1Inputs()))
    listed = await store.chapters.listed()
    assert [line.id for line in listed] == [new.id, old.id, blank.id]
    assert [line.title for line in listed] == [
        "Named",
        "At the gate a guard waits for nobody…",
        "Untitled chapter",
    ]
    assert [line.draft_count for line in listed] == [0, 0, 0]


async def test_an_archived_chapter_leaves_the_list_and_comes_back(store: SessionStore) -> None:
    session = chapters.new_session(script_key="key")
    await store.chapters.create(chapters.creation(session))
    assert await store.chapters.find_script("key") == session.id
    at = datetime(2026, 11, 22, tzinfo=UTC)
    await store.chapters.archive(session.id, at)
    assert await store.chapters.listed() == []
    assert [line.archived_at for line in await store.chapters.listed(is_archived=True)] == [at]
    assert await store.chapters.find_script("key") is None
    await store.chapters.archive(session.id, None)
    assert len(await store.chapters.listed()) == 1
    assert await store.chapters.find_script("") is None


async def test_a_script_that_is_played_many_times_at_once_makes_one_session(open_window: OpenWindow) -> None:
    stores = [await open_window() for _ in range(4)]
    for key in ("ember", "ash", "dust"):
        wanted = [chapters.creation(chapters.new_session(script_key=key)) for _ in range(16)]
        found = await asyncio.gather(
            *(stores[number % 4].chapters.find_or_create(changes) for number, changes in enumerate(wanted))
        )
        assert len({session_id for session_id, _ in found}) == 1
        assert sum(is_new for _, is_new in found) == 1
    assert len(await stores[0].chapters.listed()) == 3


async def test_a_commit_does_not_take_a_chapter_out_of_the_archive(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    await store.chapters.archive(session.id, NOW)
    await chapters.play(store, session, lease, 1)
    assert (await store.load(session.id)).session.archived_at == NOW


async def test_purging_takes_all_of_one_chapter_and_nothing_else(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    other, other_lease = await chapters.locked_session(store)
    for one, its in ((session, lease), (other, other_lease)):
        played = await chapters.play(store, one, its, 2)
        played = replace(played, boundary=2)
        await store.commit(
            Changes(
                session_id=one.id,
                session=played,
                blocks=(chapters.delta(one, 1, 2),),
                drafts=(chapters.draft(one, 1),),
                unsent={Slot.RED: "x"},
            ),
            its,
        )
    with pytest.raises(SessionLockedError):
        await store.chapters.purge(session.id)
    await lease.aclose()
    with pytest.raises(StorageError, match="archive it first") as caught:
        await store.chapters.purge(session.id)
    assert not caught.value.is_transient
    await store.chapters.archive(session.id, NOW)
    await store.chapters.purge(session.id)
    assert [line.id for line in await store.chapters.listed()] == [other.id]
    assert await store.chapters.listed(is_archived=True) == []
    for rows in (store.log, store.canon, store.drafts, store.calls.requests, store.calls.artifacts):
        assert await rows(session.id) == []
        assert await rows(other.id) != []
