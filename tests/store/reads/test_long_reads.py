"""Long chapters are read in parts, between which keys are handled."""

import logging
from typing import Any

import psycopg
import pytest

from core.domain.errors import StorageError
from db.reads import streamed
from db.store import PostgresStore
from tests.store import chapters

pytestmark = pytest.mark.anyio


async def test_a_whole_chapter_is_read_in_parts_and_in_its_order(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 9)
    await lease.aclose()
    parts: list[int] = []
    in_parts = streamed.in_parts

    def in_small_parts(query: Any, to_domain: Any, rows: int) -> Any:
        parts.append(rows)
        return in_parts(query, to_domain, 2)

    monkeypatch.setattr("db.transactions.in_parts", in_small_parts)
    told = await store.canon(session.id)
    assert told == await store.canon(session.id, last=session.prompt_index)
    assert len(told) > 9
    assert await store.blocks(session.id) == list(await store.memory(session.id))
    assert parts == [streamed.SMALL_ROWS, streamed.LARGE_ROWS]
    calls, requests = await store.calls.artifacts(session.id), await store.calls.requests(session.id)
    assert len(requests) > 2
    assert [one.id for one in calls] == sorted(one.id for one in calls)
    assert [one.id for one in requests] == sorted(one.id for one in requests)
    assert parts == [streamed.SMALL_ROWS, *[streamed.LARGE_ROWS] * 3]


async def test_a_connection_that_is_lost_at_the_end_of_a_read_is_no_error_of_the_program(
    store: PostgresStore,
    raw: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 2)
    fetch = psycopg.AsyncServerCursor.fetchmany

    async def fetch_and_lose(cursor: Any, size: int = 0) -> Any:
        rows = await fetch(cursor, size)
        if not rows:
            raw.execute("SELECT pg_terminate_backend(%s, 5000)", [cursor.connection.info.backend_pid])
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.AsyncServerCursor, "fetchmany", fetch_and_lose)
        with pytest.raises(StorageError, match="connection"):
            await store.canon(session.id)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert await store.canon(session.id)
