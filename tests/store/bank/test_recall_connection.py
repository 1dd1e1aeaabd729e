"""The connection of recall: it plans once, is opened again when it is lost, and reads each version once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from core.changes import Changes
from core.domain.bank.item import Item
from core.domain.bank.recall import Query, Scope, query_words
from core.domain.session.session import Session
from db.rows.bank_mapping import to_item_of_texts
from db.store import PostgresStore
from tests.core.bank_samples import fact
from tests.store import chapters

pytestmark = pytest.mark.anyio


async def with_items(store: PostgresStore, *items: Item) -> Session:
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    await store.commit(
        Changes(session_id=session.id, items=tuple(replace(one, session_id=session.id) for one in items)),
        lease,
    )
    await lease.aclose()
    return session


def query(session: Session, text: str = "the brass key") -> Query:
    scope = Scope(session_id=session.id, mask=1, now=3)
    return Query(session_id=session.id, scopes=(scope,), words=query_words([(text, 1.0)]), limit=20)


async def test_the_statement_of_recall_is_planned_once_whatever_is_asked(store: PostgresStore) -> None:
    session = await with_items(store, fact(1), fact(2))
    for text in ("the brass key", "who hid it", "a boat in the harbour of 1812"):
        await store.bank.recall(query(session, text))
    plans = "SELECT sum(generic_plans), sum(custom_plans), count(*) FROM pg_prepared_statements"
    plans += " WHERE statement LIKE '%bank_word%'"
    [(generic, custom, statements)] = await on_its_connection(store, plans)
    assert (generic, custom, statements) == (3, 0, 1)


async def on_its_connection(store: PostgresStore, text: str) -> Sequence[tuple[Any, ...]]:
    async def work(connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        return await (await connection.execute(text)).fetchall()

    return await store.bank._recalls._connection.run(work)


async def test_a_lost_connection_is_opened_again_with_its_settings(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    session = await with_items(store, fact(1))
    [found] = await store.bank.recall(query(session))
    [(process,)] = await on_its_connection(store, "SELECT pg_backend_pid()")
    assert raw.execute("SELECT pg_terminate_backend(%s)", (process,)).fetchone() == (True,)
    [again] = await store.bank.recall(query(session))
    assert again == found
    assert await on_its_connection(store, "SHOW plan_cache_mode") == [("force_generic_plan",)]


async def test_a_change_of_an_item_is_recalled_and_what_did_not_change_is_read_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await with_items(store, fact(1), fact(2))
    found = {one.item.id: one.item for one in await store.bank.recall(query(session))}
    changed = found[fact(1).id].next_version(found[fact(1).id].updated_at)
    await store.bank.put([replace(changed, text="Kara sold the brass key.")])
    read: list[str] = []

    def noted(row: dict[str, Any]) -> Item:
        read.append(row["text"])
        return to_item_of_texts(row)

    monkeypatch.setattr("db.bank.item_reader.to_item_of_texts", noted)
    again = {one.item.id: one.item for one in await store.bank.recall(query(session))}
    assert read == ["Kara sold the brass key."]
    assert again[fact(1).id].text == "Kara sold the brass key."
    assert again[fact(2).id] is found[fact(2).id]
