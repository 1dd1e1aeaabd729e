"""What is asked while playing costs the same however long the story has become."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

import psycopg
import pytest
from psycopg import sql

from core.domain.ids import SessionId
from core.domain.requests.request import RequestRecord, RequestState
from core.domain.session.session import Session
from core.storage.changes import Changes
from core.storage.session_store import Lease
from db.store import PostgresStore, open_store
from tests.store import chapters
from tests.store.servers import as_administrator, cloned, plain_url

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SHORT, LONG = 1_000, 20_000
TAKES = 3
"""Takes of each prompt of a third story, as long as the short one."""
"""Prompts of the stories; each has a reply, so there are twice as many events. Both fill every window."""
ROUNDS = 5
SLACK = 1.1
"""An index of a long table is a level or two deeper, and a row more may be looked at on the way."""
PATIENCE = 60.0

TOUCHED = """
SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
"""
"""Rows that the server has looked at, whether by an index or one after the other."""
OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)

GROW = """
WITH grown AS (
    INSERT INTO event
        (session_id, event_id, prompt_index, take, ordinal, role, slot, text, metadata, created_at)
    SELECT %(id)s, gen_random_uuid(), n, t, o, CASE o WHEN 0 THEN 'user' ELSE 'agent' END, 1,
           repeat('word ', 30), '{}', now()
    FROM generate_series(1, %(last)s) AS n, generate_series(1, %(takes)s) AS t, generate_series(0, 1) AS o
), counted AS (
    INSERT INTO canon (session_id, prompt_index, take)
    SELECT %(id)s, n, %(takes)s FROM generate_series(1, %(last)s) AS n
), remembered AS (
    INSERT INTO memory_block (session_id, block_id, type, from_prompt, to_prompt, json_text, created_at)
    SELECT %(id)s, gen_random_uuid(), 'turn_delta', 1, %(last)s - 5, '{}', now() RETURNING *
), canonised AS (
    INSERT INTO memory_canon (session_id, to_prompt, ordinal, from_prompt, block_id)
    SELECT session_id, to_prompt, ordinal, from_prompt, block_id FROM remembered
)
UPDATE session SET prompt_index = %(last)s, boundary = %(last)s - 5 WHERE id = %(id)s
"""


@dataclass
class Story:
    """A session that was played for a while, and the right to go on."""

    store: PostgresStore
    session: Session
    lease: Lease


@pytest.fixture(scope="module")
def grown(template: str) -> Iterator[tuple[str, SessionId, SessionId, SessionId]]:
    """A database with a story of some prompts, one of many, and one of some with several takes each."""
    for url in cloned(template):
        short, long, retaken = [asyncio.run(_new_story(url)) for _ in range(3)]
        with psycopg.connect(plain_url(as_administrator(url)), autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")  # no key is checked: 20 times faster
            for session_id, last, takes in ((short, SHORT, 1), (long, LONG, 1), (retaken, SHORT, TAKES)):
                connection.execute(GROW, {"id": session_id, "last": last, "takes": takes})
            # A sample of the rows would have the planner choose by chance.
            connection.execute("SET default_statistics_target = 10000")
            connection.execute("VACUUM ANALYZE")
            # The planner reads a table of some rows whole, and these have some more at every count.
            name = connection.info.dbname
            connection.execute(
                sql.SQL("ALTER DATABASE {} SET enable_seqscan = off").format(sql.Identifier(name))
            )
        yield url, short, long, retaken


async def _new_story(url: str) -> SessionId:
    store = await open_store(url)
    session, _ = await chapters.locked_session(store)
    await store.aclose()
    return session.id


async def _opened(store: PostgresStore, session_id: SessionId) -> Story:
    return Story(store, (await store.load(session_id)).session, await chapters.taken(store, session_id))


async def _commit(story: Story) -> None:
    """The engine's two commits of one prompt."""
    changes = chapters.turn(story.session)
    done = RequestRecord.of(changes.requests[0])
    asked = replace(done, state=RequestState.PROCESSING, prompts=None).request()
    await story.store.commit(Changes(session_id=story.session.id, requests=(asked,)), story.lease)
    await story.store.commit(changes, story.lease)
    story.session = changes.session or story.session


async def _load(story: Story) -> None:
    await story.store.load(story.session.id)


async def _newest(story: Story) -> None:
    assert len(await story.store.newest_canon(story.session.id, 10_000)) >= 67


async def rows_touched(url: str, session_id: SessionId, work: Callable[[Story], Awaitable[None]]) -> int:
    """Return how many rows the server looks at when `work` is done some times on this story."""
    before = _rows_so_far(url)
    store = await open_store(url)
    story = await _opened(store, session_id)
    for _ in range(ROUNDS):
        await work(story)
    await store.aclose()
    return _rows_so_far(url) - before


def _rows_so_far(url: str) -> int:
    """Ask the server; its counts are whole once every connection that counted has ended."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        deadline = time.monotonic() + PATIENCE
        while connection.execute(OTHERS).fetchone() != (0,):
            assert time.monotonic() < deadline, "connections stay open"
        row = connection.execute(TOUCHED).fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.parametrize("work", [_commit, _load, _newest])
async def test_a_long_story_costs_what_a_short_one_costs(
    grown: tuple[str, SessionId, SessionId, SessionId], work: Callable[[Story], Awaitable[None]]
) -> None:
    """Counted in rows that the server looks at; `bench/store/opening.py` takes the time."""
    url, *ids, _ = grown
    short, long = [await rows_touched(url, session_id, work) for session_id in ids]
    assert 0 < long <= short * SLACK, (short, long)


@pytest.mark.parametrize("work", [_load, _newest])
async def test_a_story_with_several_takes_is_opened_with_the_rows_of_one_without(
    grown: tuple[str, SessionId, SessionId, SessionId], work: Callable[[Story], Awaitable[None]]
) -> None:
    url, short, _, retaken = grown
    plain, several = [await rows_touched(url, session_id, work) for session_id in (short, retaken)]
    further = (TAKES - 1) * 2 * 14 * ROUNDS if work is _load else 0
    """The takes of the prompts of recent context, which are counted."""
    assert 0 < several <= plain * SLACK + further, (plain, several)


async def test_the_newest_events_are_exactly_those_that_just_exceed_the_room(
    store: PostgresStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    lengths = [5, 1, 1, 30, 2, 700, 1, 1]
    for index in range(0, len(lengths), 2):
        changes = chapters.turn(session, "x" * lengths[index], "é" * lengths[index + 1])
        await store.commit(changes, lease)
        session = changes.session or session
    whole = list(await store.log(session.id))
    assert [len(event.text) for event in whole] == lengths
    for room in (0, 1, 2, 3, 701, 702, 703, 704, 733, 734, 735, 736, 740, 741, 10_000):
        total, count = 0, 0
        while total <= room and count < len(whole):
            count += 1
            total += lengths[-count]
        assert await store.newest_canon(session.id, room) == whole[len(whole) - count :], room


async def test_a_walk_back_over_many_batches_is_in_order(
    grown: tuple[str, SessionId, SessionId, SessionId],
) -> None:
    url, _, long, _ = grown
    store = await open_store(url)
    last = (await store.load(long)).session.prompt_index
    newest = await store.newest_canon(long, 300_000)
    await store.aclose()
    places = [(event.prompt_index, event.ordinal) for event in newest]
    assert places == sorted(set(places))
    assert places[-1] == (last, 1)
    total = sum(len(event.text) for event in newest)
    assert total > 300_000 >= total - len(newest[0].text)
