"""Long chapters are read in parts, between which keys are handled."""

from typing import Any

import pytest

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

    monkeypatch.setattr("db.store.in_parts", in_small_parts)
    told = await store.canon(session.id)
    assert told == await store.canon(session.id, last=session.prompt_index)
    assert len(told) > 9
    assert await store.blocks(session.id) == list(await store.memory(session.id))
    assert parts == [streamed.SMALL_ROWS, streamed.LARGE_ROWS]
    calls, requests = await store.artifacts(session.id), await store.requests(session.id)
    assert len(requests) > 2
    assert [one.id for one in calls] == sorted(one.id for one in calls)
    assert [one.id for one in requests] == sorted(one.id for one in requests)
    assert parts == [streamed.SMALL_ROWS, *[streamed.LARGE_ROWS] * 3]
