"""A server of the GM's own may have settings, for a role or a database, that a chapter must not depend on."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import psycopg
import pytest

from core.domain.bank.recall import Query, Scope, query_words
from core.domain.errors import StorageError
from core.domain.session.session import Session
from core.storage.changes import Changes
from db.connections import open_connection, open_engine, parse_url
from db.store import PostgresStore, open_store
from tests.core.values.bank import fact
from tests.store import chapters
from tests.store.servers import administer, as_administrator, database_of, in_database, plain_url

pytestmark = pytest.mark.anyio

TEXT = "“灰” – ночь 😀"


def set_for_all(url: str, setting: str) -> None:
    """Give every later connection to the database of a test this setting."""
    administer(as_administrator(url), f"ALTER DATABASE {{}} SET {setting}", database_of(url))


async def played(store: PostgresStore) -> Session:
    """Store a chapter with a text of several scripts and an item, and return it as it is read."""
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    for _ in range(3):
        turn = chapters.turn(session, TEXT, TEXT)
        await store.commit(turn, lease)
        session = turn.session or session
    item = replace(fact(1), session_id=session.id)
    await store.commit(Changes(session_id=session.id, items=(item,)), lease)
    await lease.aclose()
    return (await store.load(session.id)).session


@pytest.mark.parametrize(
    "setting",
    [
        "client_encoding = 'LATIN1'",
        "datestyle = 'German, DMY'",
        "array_nulls = off",
        "extra_float_digits = -10",
        "bytea_output = 'escape'",
        "standard_conforming_strings = off",
        "timezone = 'Asia/Kolkata'",
        "default_text_search_config = 'pg_catalog.german'",
    ],
)
async def test_a_setting_of_the_server_changes_nothing_of_a_chapter(url: str, setting: str) -> None:
    set_for_all(url, setting)
    async with aclosing(await open_store(url)) as store:
        session = await played(store)
        assert [event.text for event in await store.canon(session.id)] == [TEXT] * 6
        assert session.created_at == chapters.NOW
        scope = Scope(session_id=session.id, mask=1, now=3)
        words = query_words([("the brass key", 1.0)])
        found = await store.bank.recall(Query(session_id=session.id, scopes=(scope,), words=words, limit=5))
        assert [one.item.id for one in found] == [fact(1).id]


async def test_a_gm_who_thinks_longer_than_connections_may_be_idle_stays_the_writer(url: str) -> None:
    set_for_all(url, "idle_session_timeout = '1s'")
    async with aclosing(await open_store(url)) as store:
        session, lease = await chapters.locked_session(store)
        with psycopg.connect(plain_url(url)) as other, pytest.raises(psycopg.OperationalError):
            await asyncio.to_thread(_until_ended, other)
        assert not lease.is_lost
        await store.commit(chapters.turn(session), lease)
        assert (await store.load(session.id)).session.prompt_index == 1


def _until_ended(connection: psycopg.Connection) -> None:
    """Wait until the server ends a connection that is idle, as one of the store would be by then."""
    for _ in connection.notifies(timeout=chapters.PATIENCE):
        pass


async def test_an_upgrade_may_take_longer_than_a_transaction_may_on_that_server(url: str) -> None:
    set_for_all(url, "transaction_timeout = '5s'")
    single, engine = await open_connection(parse_url(url)), open_engine(parse_url(url))
    cursor = await single.execute("SHOW transaction_timeout")
    assert await cursor.fetchone() == ("0",)
    async with engine.connect() as pooled:
        assert (await pooled.exec_driver_sql("SHOW transaction_timeout")).scalar_one() == "0"
    await single.close()
    await engine.dispose()


async def test_windows_that_begin_at_once_make_one_schema_whatever_a_transaction_sees(empty_url: str) -> None:
    set_for_all(empty_url, "default_transaction_isolation = 'repeatable read'")
    stores = await asyncio.gather(*(open_store(empty_url) for _ in range(3)))
    for store in stores:
        await store.aclose()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_no_chapter_begins_in_a_database_that_cannot_keep_every_text(
    private_url: str, encoding: str
) -> None:
    name = f"story_{encoding.lower()}"
    made = f"CREATE DATABASE {{}} TEMPLATE template0 ENCODING '{encoding}' LOCALE_PROVIDER libc LOCALE 'C'"
    administer(as_administrator(private_url), made, name)
    try:
        with pytest.raises(StorageError) as refused:
            await open_store(in_database(private_url, name))
        assert encoding in refused.value.message
        assert not refused.value.is_transient
    finally:
        administer(as_administrator(private_url), "DROP DATABASE {} WITH (FORCE)", name)
