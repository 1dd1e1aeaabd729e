"""What is asked while playing costs the same however long the story has become."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

import psycopg
import pytest

from core.ids import SessionId
from core.request import RequestState
from core.session import Session
from core.store import Changes, Lease
from db.store import PostgresStore, open_store
from tests.store import chapters
from tests.store.servers import cloned, plain_url

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LONG = 50_000
"""Prompts of the long story; each has a reply, so it has twice as many events."""
FACTOR = 1.5
ROUNDS = 40

GROW = """
WITH grown AS (
    INSERT INTO event (session_id, event_id, prompt_index, ordinal, role, slot, text, metadata, created_at)
    SELECT %(id)s, gen_random_uuid(), n, o, CASE o WHEN 0 THEN 'user' ELSE 'agent' END, 1,
           repeat('word ', 30), '{}', now()
    FROM generate_series(1, %(last)s) AS n, generate_series(0, 1) AS o
), remembered AS (
    INSERT INTO memory_block (session_id, block_id, type, from_prompt, to_prompt, payload, created_at)
    SELECT %(id)s, gen_random_uuid(), 'turn_delta', 1, %(last)s - 5, '{}', now()
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
def grown(template: str) -> Iterator[tuple[str, SessionId, SessionId]]:
    """A database with a story of 50 prompts and one of many, alike but for their length."""
    for url in cloned(template):
        short, long = asyncio.run(_new_story(url)), asyncio.run(_new_story(url))
        with psycopg.connect(plain_url(url), autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")  # no key is checked: 20 times faster
            for session_id, last in ((short, 50), (long, LONG)):
                connection.execute(GROW, {"id": session_id, "last": last})
            connection.execute("VACUUM ANALYZE")
        yield url, short, long


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
    asked = replace(changes.requests[0], state=RequestState.PROCESSING, prompts=None)
    await story.store.commit(Changes(session_id=story.session.id, requests=(asked,)), story.lease)
    await story.store.commit(changes, story.lease)
    story.session = changes.session or story.session


async def _load(story: Story) -> None:
    await story.store.load(story.session.id)


async def _newest(story: Story) -> None:
    assert len(await story.store.newest_events(story.session.id, 10_000)) >= 67


@pytest.mark.parametrize("work", [_commit, _load, _newest])
async def test_a_long_story_costs_what_a_short_one_costs(
    grown: tuple[str, SessionId, SessionId], work: Callable[[Story], Awaitable[None]]
) -> None:
    url, *ids = grown
    store = await open_store(url)
    short, long = [await _opened(store, session_id) for session_id in ids]
    times: dict[int, list[float]] = {id(short): [], id(long): []}
    # Taken in turns, so that what else the machine does falls on both alike.
    for _ in range(ROUNDS):
        for story in (short, long):
            start = time.perf_counter()
            await work(story)
            times[id(story)].append(time.perf_counter() - start)
    await store.aclose()
    fast, slow = (statistics.median(times[id(story)]) for story in (short, long))
    assert slow < fast * FACTOR + 0.001, f"{fast * 1000:.2f} ms and {slow * 1000:.2f} ms"


async def test_the_newest_events_are_exactly_those_that_just_exceed_the_room(
    store: PostgresStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    lengths = [5, 1, 0, 30, 2, 700, 1, 1]
    for index in range(0, len(lengths), 2):
        changes = chapters.turn(session, "x" * lengths[index], "é" * lengths[index + 1])
        await store.commit(changes, lease)
        session = changes.session or session
    whole = list(await store.events(session.id))
    assert [len(event.text) for event in whole] == lengths
    for room in (0, 1, 2, 3, 701, 702, 703, 704, 733, 734, 738, 739, 740, 10_000):
        total, count = 0, 0
        while total <= room and count < len(whole):
            count += 1
            total += lengths[-count]
        assert await store.newest_events(session.id, room) == whole[len(whole) - count :], room


async def test_a_walk_back_over_many_batches_is_in_order(
    grown: tuple[str, SessionId, SessionId],
) -> None:
    url, _, long = grown
    store = await open_store(url)
    last = (await store.load(long)).session.prompt_index
    newest = await store.newest_events(long, 300_000)
    await store.aclose()
    places = [(event.prompt_index, event.ordinal) for event in newest]
    assert places == sorted(set(places))
    assert places[-1] == (last, 1)
    total = sum(len(event.text) for event in newest)
    assert total > 300_000 >= total - len(newest[0].text)
