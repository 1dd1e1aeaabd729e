"""The times of calls in the database: a window that ends in any way holds up others for a minute at most."""

import asyncio
from contextlib import aclosing

import psycopg
import pytest

from db.store import PostgresStore, open_store
from tests.store.chapters import until
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio

WAITING = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


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


async def test_of_two_windows_that_want_the_last_call_of_a_minute_one_begins_it(
    url: str, store: PostgresStore
) -> None:
    assert await store.queue.begin_call("work", 2) == 0
    async with aclosing(await open_store(url)) as other:
        with (
            psycopg.connect(plain_url(url)) as holder,
            psycopg.connect(plain_url(url), autocommit=True) as raw,
        ):
            holder.execute("SELECT FROM lane_minute FOR UPDATE")
            asked = [asyncio.create_task(window.queue.begin_call("work", 2)) for window in (store, other)]

            async def are_waiting() -> bool:
                return len(raw.execute(WAITING).fetchall()) == 2

            await until(are_waiting)
            # Had they read the row before they wait, both would find that one call is left.
            holder.rollback()
            begun, refused = sorted(await asyncio.gather(*asked))
    assert begun == 0 < refused
