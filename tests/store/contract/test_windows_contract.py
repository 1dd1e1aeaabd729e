"""What every store promises windows that share it: one writes, and all who follow hear of every commit."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.domain.errors import SessionLockedError
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore, WriterInfo
from tests.core.values.bank import fact
from tests.store import chapters
from tests.store.chapters import PATIENCE, taken
from tests.store.contract.conftest import OpenWindow

pytestmark = pytest.mark.anyio
SILENCE = 0.3


async def heard(news: AsyncIterator[bool]) -> bool:
    """Return with the next notice."""
    async with asyncio.timeout(PATIENCE):
        return await anext(news)


async def test_the_second_window_hears_who_has_it(store: SessionStore, open_window: OpenWindow) -> None:
    session = chapters.new_session()
    await store.chapters.create(chapters.creation(session))
    lease = await taken(store, session.id, "pts/1 on attic")
    other = await open_window()
    holder = await other.acquire(session.id, "pts/2")
    assert isinstance(holder, WriterInfo)
    assert holder.label == "pts/1 on attic"
    assert abs(holder.since - datetime.now(UTC)) < timedelta(minutes=1)
    await lease.aclose()
    await lease.aclose()
    assert (await taken(other, session.id)).epoch == lease.epoch + 1


async def test_the_same_window_does_not_take_it_twice(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    assert isinstance(await store.acquire(locked[0].id, "again"), WriterInfo)


async def test_who_writes_can_be_asked_without_taking_anything(
    store: SessionStore, open_window: OpenWindow
) -> None:
    session, neighbour = chapters.new_session(), chapters.new_session()
    for one in (session, neighbour):
        await store.chapters.create(chapters.creation(one))
    other = await open_window()
    assert await other.writer_of(session.id) is None
    lease = await taken(store, session.id, "pts/1 on attic")
    holder = await other.writer_of(session.id)
    assert holder is not None
    assert holder.label == "pts/1 on attic"
    assert await other.writer_of(neighbour.id) is None
    await lease.aclose()
    assert await other.writer_of(session.id) is None
    assert (await taken(other, session.id)).epoch == lease.epoch + 1, "asking is no turn"


async def test_closing_the_store_gives_every_lock_back(store: SessionStore, open_window: OpenWindow) -> None:
    session = chapters.new_session()
    other = await open_window()
    await other.chapters.create(chapters.creation(session))
    lease = await taken(other, session.id)
    await other.aclose()
    assert lease.is_lost
    await taken(store, session.id)


async def test_a_lease_that_was_given_back_writes_nothing(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    await lease.aclose()
    with pytest.raises(SessionLockedError):
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "x"}), lease)


async def test_every_commit_is_heard(
    store: SessionStore, open_window: OpenWindow, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    reader = await open_window()
    async with reader.follow(session.id) as news:
        for index in range(1, 4):
            session = await chapters.play(store, session, lease, 1)
            await heard(news)
            assert (await reader.load(session.id)).session.prompt_index == index
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "x"}), lease)
        await heard(news)
        await store.chapters.archive(session.id, chapters.NOW)
        await heard(news)


async def test_a_window_hears_whether_items_of_the_memory_bank_changed(
    store: SessionStore, open_window: OpenWindow, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    reader = await open_window()
    first, second = (fact(number, session_id=session.id, prompt_index=1) for number in (1, 2))
    async with reader.follow(session.id) as news:
        session = await chapters.play(store, session, lease, 1)
        assert not await heard(news)
        await store.commit(Changes(session_id=session.id, items=(first,)), lease)
        assert await heard(news)
        await store.bank.put([second, replace(first, version=2, is_pinned=True)])
        assert await heard(news)
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "x"}), lease)
        assert not await heard(news)


async def test_many_commits_at_once_may_be_one_notice_but_never_none(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    async with store.follow(session.id) as news:
        await chapters.play(store, session, lease, 10)
        await heard(news)
        seen = (await store.load(session.id)).session.prompt_index
        while seen < 10:
            await heard(news)
            seen = (await store.load(session.id)).session.prompt_index


async def test_other_sessions_are_not_heard(store: SessionStore, locked: tuple[Session, Lease]) -> None:
    session, lease = locked
    other = chapters.new_session()
    await store.chapters.create(chapters.creation(other))
    async with store.follow(other.id) as news:
        await chapters.play(store, session, lease, 1)
        waiting = asyncio.ensure_future(anext(news))
        done, _ = await asyncio.wait({waiting}, timeout=SILENCE)
        assert not done
        waiting.cancel()
