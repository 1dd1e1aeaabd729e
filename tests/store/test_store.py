"""What is stored comes back as it was; what a commit brings is there whole or not at all."""

import asyncio
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId, new_uuid
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.storage.changes import Changes
from core.storage.session_store import Lease
from db.reads.chapter_lists import lore_replies_of
from db.store import PostgresStore, open_store
from tests.store import chapters
from tests.store.chapters import NOW

pytestmark = pytest.mark.anyio


async def test_a_commit_that_breaks_a_rule_leaves_nothing(
    store: PostgresStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    before = await store.load(session.id)
    changes = chapters.turn(session)
    hole = replace(changes, events=(chapters.prompt(session, 5), chapters.reply(session, 5)))
    with pytest.raises(StorageError) as caught:
        await store.commit(hole, lease)
    assert not caught.value.is_transient
    assert caught.value.code is ErrorCode.STORAGE_SAVE_FAILED
    assert caught.value.__cause__ is not None
    assert await store.load(session.id) == before
    assert await store.calls.requests(session.id) == []
    await store.commit(changes, lease)


async def test_the_last_words_on_tab1_may_come_with_the_lock(store: PostgresStore) -> None:
    session = chapters.new_session()
    await store.chapters.create(chapters.creation(session))
    lease = await chapters.taken(store, session.id)
    session = replace(session, state=SessionState.ACTIVE, tab1_locked=True)
    last = Tab1Inputs(world="at last", chapter="Dawn")
    block = chapters.lock_block(session)
    await store.commit(Changes(session_id=session.id, session=session, tab1=last, blocks=(block,)), lease)
    assert (await store.load(session.id)).tab1 == last
    with pytest.raises(StorageError):
        await store.commit(Changes(session_id=session.id, tab1=Tab1Inputs(world="no")), lease)


async def test_an_id_is_never_reused(store: PostgresStore, locked: tuple[Session, Lease]) -> None:
    session, _ = locked
    with pytest.raises(StorageError) as caught:
        await store.chapters.create(chapters.creation(chapters.new_session(id=session.id)))
    assert not caught.value.is_transient
    assert (await store.load(session.id)).session == session


async def test_what_jsonb_refuses_is_an_error_with_a_sentence(
    store: PostgresStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    changes = chapters.turn(session)
    for value in (float("nan"), float("inf"), object(), "\x00", "\ud800"):
        odd = replace(changes.events[0], metadata={"odd": value})
        with pytest.raises(StorageError) as caught:
            await store.commit(replace(changes, events=(odd, changes.events[1])), lease)
        assert not caught.value.is_transient
        assert await store.log(session.id) == []
    await store.commit(changes, lease)


async def test_a_script_that_is_started_over_many_times_at_once_makes_as_many_sessions(
    url: str, raw: psycopg.Connection
) -> None:
    stores = [await open_store(url) for _ in range(4)]
    wanted = [chapters.creation(chapters.new_session(script_key="ember")) for _ in range(12)]
    await asyncio.gather(
        *(stores[number % 4].chapters.create(changes) for number, changes in enumerate(wanted))
    )
    runs = raw.execute("SELECT script_run, id FROM session ORDER BY script_run").fetchall()
    assert [run for run, _ in runs] == list(range(1, 13))
    assert await stores[0].chapters.find_script("ember") == runs[-1][1]
    for opened in stores:
        await opened.aclose()


async def test_a_connection_that_was_made_while_the_server_took_no_writes_is_given_up(
    store: PostgresStore, locked: tuple[Session, Lease], raw: psycopg.Connection
) -> None:
    session, lease = locked
    name = sql.Identifier(raw.info.dbname)
    raw.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
    # All but the one that holds the writer's lock: losing it would have everything connected anew.
    raw.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"
    )
    with pytest.raises(StorageError, match="read-only") as refused:
        await store.commit(chapters.turn(session), lease)
    assert refused.value.is_transient
    with pytest.raises(StorageError, match="read-only"):
        await store.chapters.archive(session.id, NOW)
    raw.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))
    await store.commit(chapters.turn(session), lease)
    await store.chapters.archive(session.id, NOW)


def test_what_replies_say_of_lore_is_read_without_their_texts() -> None:
    query = lore_replies_of(SessionId(new_uuid()))
    assert set(query.selected_columns.keys()) == {"slot", "prompt_index", "lore"}, "a chapter has thousands"
