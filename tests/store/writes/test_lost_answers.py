"""A change is made once, also where the connection fails behind the commit, before its answer is there."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from db.store import PostgresStore
from tests.core.values.bank import fact
from tests.store import chapters
from tests.store.contract.test_library_contract import NOW, book, mira

pytestmark = pytest.mark.anyio


@pytest.fixture
def lose_answer(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what lets the connection fail at the next commit, once that is made or before it."""
    dialect = store._engine.sync_engine.dialect
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
