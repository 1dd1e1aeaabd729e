"""The times of calls in the database: a window that ends in any way holds up others for a minute at most."""

import asyncio

import psycopg
import pytest

from db.store import PostgresStore, open_store
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio


async def test_a_call_of_a_window_that_is_gone_counts_for_a_minute_and_no_longer(
    url: str, store: PostgresStore
) -> None:
    gone = await open_store(url)
    assert await gone.queue.begin_call("work", 1) == 0
    await gone.aclose()
    assert await store.queue.begin_call("work", 1) > 0
    with psycopg.connect(plain_url(url), autocommit=True) as raw:
        raw.execute("UPDATE lane_minute SET begun_at = ARRAY[now() - interval '61 seconds']")
        assert await store.queue.begin_call("work", 1) == 0
        raw.execute("UPDATE lane_minute SET begun_at = ARRAY[now() + interval '1 hour']")
        assert await store.queue.begin_call("work", 1) == 0, "of a clock that was put back"
        assert raw.execute("SELECT cardinality(begun_at) FROM lane_minute").fetchall() == [(1,)]


async def test_a_rate_that_was_lowered_counts_the_calls_that_began_before(
    url: str, store: PostgresStore
) -> None:
    assert [await store.queue.begin_call("work", 9) for _ in range(2)] == [0, 0]
    with psycopg.connect(plain_url(url), autocommit=True) as raw:
        raw.execute("UPDATE lane_minute SET begun_at[1] = begun_at[1] - interval '50 seconds'")
    assert await store.queue.begin_call("work", 2) <= 10
    assert await store.queue.begin_call("work", 1) > 10


async def test_of_calls_that_begin_at_the_same_moment_no_more_begin_than_may(store: PostgresStore) -> None:
    for name in ("first", "second", "third"):
        asked = await asyncio.gather(*(store.queue.begin_call(name, 3) for _ in range(10)))
        assert asked.count(0) == 3
