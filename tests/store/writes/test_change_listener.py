"""Whoever follows a session hears of every commit, through lost connections too."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest
from sqlalchemy import URL

from core.domain.errors import StorageError
from core.domain.session.session import Session
from core.storage.changes import Changes
from core.storage.session_store import Lease
from db.connections import RawConnection, open_connection
from db.store import PostgresStore, open_store
from tests.store import chapters
from tests.store.chapters import PATIENCE, is_noticed
from tests.store.servers import plain_server

pytestmark = pytest.mark.anyio
SILENCE = 0.3


async def heard(news: AsyncIterator[bool]) -> None:
    """Return with the next notice."""
    async with asyncio.timeout(PATIENCE):
        await anext(news)


async def test_what_fails_is_not_heard(store: PostgresStore, locked: tuple[Session, Lease]) -> None:
    session, lease = locked
    async with store.follow(session.id) as news:
        with pytest.raises(StorageError):
            await store.commit(
                Changes(session_id=session.id, session=replace(session, prompt_index=4)), lease
            )
        waiting = asyncio.ensure_future(anext(news))
        done, _ = await asyncio.wait({waiting}, timeout=SILENCE)
        assert not done
        waiting.cancel()


async def test_a_lost_connection_is_made_again_and_heard_once(
    store: PostgresStore, locked: tuple[Session, Lease], raw: psycopg.Connection
) -> None:
    session, lease = locked
    async with store.follow(session.id) as news:
        for _ in range(2):
            raw.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            )
            await heard(news)
            session = await chapters.play(store, session, lease, 1)
            await heard(news)


async def test_a_follower_that_leaves_at_once_closes_its_connection(
    store: PostgresStore, locked: tuple[Session, Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[RawConnection] = []

    async def opens(url: URL) -> RawConnection:
        opened.append(await open_connection(url))
        return opened[-1]

    monkeypatch.setattr("db.writes.change_listener.open_connection", opens)
    async with store.follow(locked[0].id):
        pass
    assert [connection.closed for connection in opened] == [True]


async def test_a_restart_of_the_server_heals_by_itself() -> None:
    """The store, its lease and its followers, on a server of their own."""
    with plain_server() as server:
        own = await open_store(server.url)
        session, lease = await chapters.locked_session(own)
        async with own.follow(session.id) as news:
            server.stop()
            with pytest.raises(StorageError) as caught:
                await own.commit(chapters.turn(session), lease)
            assert caught.value.is_transient
            with pytest.raises(StorageError) as caught:
                await own.load(session.id)
            assert caught.value.is_transient
            await is_noticed(lease)
            server.start()
            await heard(news)
            assert (await own.load(session.id)).session == session
            lease = await chapters.taken(own, session.id)
            session = await chapters.play(own, session, lease, 1)
            await heard(news)
            assert (await own.load(session.id)).session.prompt_index == 1
        await own.aclose()


async def test_idle_connections_that_died_cost_nothing(
    store: PostgresStore, locked: tuple[Session, Lease], raw: psycopg.Connection
) -> None:
    """A commit, a read and a creation after the server dropped every connection behind our back."""
    session, lease = locked
    kill = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for _ in range(2):
        raw.execute(kill)
        session = await chapters.play(store, session, lease, 1)
        raw.execute(kill)
        assert len(await store.log(session.id)) == 2 * session.prompt_index
        raw.execute(kill)
        await store.chapters.create(chapters.creation(chapters.new_session()))
    assert len(await store.chapters.listed()) == 3
