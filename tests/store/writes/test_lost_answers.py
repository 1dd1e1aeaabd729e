"""A change is made once, also where the connection fails behind the commit, before its answer is there."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from core.domain.bank.item import Item
from db.store import PostgresStore, open_store
from tests.core.values.bank import fact
from tests.store import chapters
from tests.store.chapters import until
from tests.store.contract.test_library_contract import NOW, book, mira
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio


@pytest.fixture
def lose_answer(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what lets the connection fail at the next commit, once that is made or before it."""
    dialect = store._database.pool.engine.sync_engine.dialect
    commit = dialect.do_commit

    def lose(*, is_stored: bool = True) -> None:
        def once(connection: Any) -> None:
            monkeypatch.setattr(dialect, "do_commit", commit)
            if is_stored:
                commit(connection)
            else:
                connection.rollback()
            raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(dialect, "do_commit", once)

    return lose


@pytest.mark.parametrize("is_stored", [True, False], ids=["stored", "not stored"])
async def test_an_edit_of_a_character_finds_its_own_write(
    store: PostgresStore, lose_answer: Callable[..., None], *, is_stored: bool
) -> None:
    first = mira()
    lose_answer(is_stored=is_stored)
    await store.library.put_character(first)
    assert list(await store.library.characters()) == [first]

    lose_answer(is_stored=is_stored)
    await store.library.put_character(replace(first, identity="Mira left."))

    [found] = await store.library.characters()
    assert (found.identity, found.version) == ("Mira left.", 2)


async def test_what_was_deleted_is_not_said_to_be_kept(
    store: PostgresStore, lose_answer: Callable[..., None]
) -> None:
    gone = replace(mira(), archived_at=NOW)
    await store.library.put_character(gone)
    lose_answer()
    await store.library.purge_character(gone.id)
    assert not await store.library.characters(is_archived=True)


async def test_a_new_chapter_of_a_book_is_begun_once(
    store: PostgresStore, lose_answer: Callable[..., None]
) -> None:
    session = chapters.new_session()
    one = book(session.id)
    lose_answer()
    await store.library.put_book(one, new_chapter=chapters.creation(session))
    assert await store.library.book_of(session.id) == one


async def test_a_change_of_a_memory_bank_finds_its_own_write(
    store: PostgresStore, lose_answer: Callable[..., None]
) -> None:
    session, _ = await chapters.locked_session(store)
    lose_answer()
    made = fact(1, session_id=session.id)
    await store.bank.put([made])
    assert list(await store.bank.history(session.id)) == [made]


async def test_a_change_that_the_server_undoes_after_a_deadlock_is_made_once_the_other_one_is_done(
    store: PostgresStore, url: str, raw: psycopg.Connection
) -> None:
    session = chapters.new_session()
    await store.chapters.create(chapters.creation(session))
    both = sorted((fact(number, session_id=session.id) for number in (1, 2)), key=lambda item: item.id)
    await store.bank.put(both)
    is_ours = False
    while not is_ours:
        both = [item.next_version(NOW) for item in both]
        is_ours = await _is_undone_in_a_deadlock(store, url, raw, both)
    assert list(await store.bank.items(session.id, with_all=True)) == both


async def _is_undone_in_a_deadlock(
    store: PostgresStore, url: str, raw: psycopg.Connection, both: Sequence[Item]
) -> bool:
    """Change two items while another client has the second one and wants the first; return whose lot it was.

    The server undoes the work of who looks first, a second after it began to wait: of the other client where
    that began to wait later than this.
    """
    lock = "SELECT FROM bank_item WHERE item_id = %s FOR UPDATE"
    is_ours = True
    with psycopg.connect(plain_url(url)) as other:
        other.execute(lock, (both[1].id,))
        changing = asyncio.create_task(store.bank.put(both))

        async def is_waiting() -> bool:
            waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
            return bool(raw.execute(waiting).fetchall())

        await until(is_waiting)
        try:
            await asyncio.to_thread(other.execute, lock, (both[0].id,))  # Each waits for the other now.
        except psycopg.errors.DeadlockDetected:
            is_ours = False
    await changing
    return is_ours


async def test_what_a_stopped_call_was_to_cost_is_not_left_with_the_server(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, today = psycopg.AsyncConnection.execute, date(2026, 10, 31)

    async def stopped(connection: Any, query: Any, *others: Any, **options: Any) -> Any:
        answer = await execute(connection, query, *others, **options)
        if "pg_advisory_lock(" in query:
            raise asyncio.CancelledError
        return answer

    await store.calls.tell_open_costs(Decimal("0.25"), today)
    monkeypatch.setattr(psycopg.AsyncConnection, "execute", stopped)
    with pytest.raises(asyncio.CancelledError):
        await store.calls.tell_open_costs(Decimal("0.5"), today)
    monkeypatch.undo()
    await store.calls.tell_open_costs(Decimal("0.5"), today)
    await store.calls.tell_open_costs(Decimal(0), today)
    other = await open_store(url)
    assert await other.calls.tell_open_costs(Decimal(0), today) == 0
    await other.aclose()
