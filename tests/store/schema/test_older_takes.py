"""Chapters of a program without takes, in every state: each prompt has one take, and can be taken back."""

from collections import defaultdict
from typing import Any

import psycopg
import pytest

from core.domain.errors import IllegalCommandError
from core.domain.session.session_state import SessionState
from core.domain.story.event import Role
from core.domain.story.memory import BlockType
from core.engine.session.session_handle import SessionHandle
from db.store import open_store
from tests.engine.windows import done, engine_on, play, window
from tests.store.schema.older_schema import (
    LONG,
    add_every_state,
    add_long_chapters,
    by_title,
    check_upgraded,
    make_old,
)
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio

BEFORE_TAKES = "story_0011"
EVENTS = "SELECT session_id, prompt_index, ordinal, event_id, text FROM event ORDER BY 1, 2, 3"
BLOCKS = (
    "SELECT session_id, to_prompt, ordinal, block_id, json_text FROM memory_block ORDER BY session_id, 2, 3"
)


async def make(url: str) -> None:
    """Make such a database."""
    await make_old(url, BEFORE_TAKES)
    await add_every_state(url)
    await add_long_chapters(url)


def rows_of(url: str, query: str) -> dict[object, list[tuple[Any, ...]]]:
    """The rows of each session, in order."""
    found = defaultdict(list)
    with psycopg.connect(plain_url(url)) as connection:
        for session_id, *row in connection.execute(query.encode()).fetchall():
            found[session_id].append(tuple(row))
    return found


async def told(session: SessionHandle) -> list[str]:
    return [event.text for event in await session.reads.canon() if event.role is Role.USER]


async def test_what_was_played_in_any_state_is_the_first_take_and_what_was_remembered_the_first_revision(
    old_url: str,
) -> None:
    events, blocks = rows_of(old_url, EVENTS), rows_of(old_url, BLOCKS)
    store = await open_store(old_url)
    sessions = await by_title(store)
    assert sessions.keys() == {"Old", *SessionState, *(f"Long {state}" for state in LONG)}
    for session_id in sessions.values():
        session = (await store.load(session_id)).session
        assert (session.canon_version, session.branched_from, session.pinned) == (0, None, ())
        canon = await store.canon(session_id)
        assert [(*one.place, one.id, one.text) for one in canon] == events[session_id]
        assert list(await store.log(session_id)) == list(canon)
        assert list(await store.takes(session_id)) == [1] * session.prompt_index
        memory = await store.blocks(session_id)
        found = [(block.last, block.ordinal, block.id, block.json_text) for block in memory]
        assert found == blocks[session_id]
        assert {(block.revision, block.made_from, block.is_by_gm) for block in memory} <= {(1, None, False)}
        assert list(await store.revisions(session_id)) == []
    await check_upgraded(store, old_url)
    await store.aclose()


@pytest.mark.parametrize("state", [SessionState.ACTIVE, SessionState.SUMMARIZING, SessionState.RESETTING])
async def test_an_older_chapter_that_is_played_can_be_rolled_again_and_taken_back_with_its_memory(
    upgraded_url: str, state: SessionState
) -> None:
    store = await open_store(upgraded_url)
    session_id = (await by_title(store))[f"Long {state}"]
    prompts, _ = LONG[state]
    async with window(store, None, session_id) as session:
        await session.wait_idle()
        assert session.snapshot.session.state is SessionState.ACTIVE
        before = await told(session)
        assert len(before) == prompts
        await done(session, await session.takes.reroll())
        await session.wait_idle()
        assert list(await store.takes(session_id)) == [*[1] * (prompts - 1), 2]
        while session.snapshot.session.prompt_index > 5:
            await session.takes.undo()
        assert await told(session) == before[:5]
        assert session.snapshot.session.boundary == 0, "the block of an older schema is withdrawn"
        kinds = [(block.type, block.place) for block in await session.reads.memory_blocks()]
        assert kinds == [(BlockType.WORLD_CHAPTER_LOCK, (0, 0)), (BlockType.CANON_CORRECTION, (0, 1))]
        for _ in before[5:]:
            await session.takes.redo()
            await session.wait_idle()
        assert await told(session) == before
        assert session.snapshot.session.boundary == prompts // 7 * 7, "and made again"
        await play(session, 1)
    await store.aclose()


@pytest.mark.parametrize("state", [SessionState.ENDED, SessionState.NARRATING])
async def test_an_older_chapter_that_has_ended_is_branched_and_not_taken_back(
    upgraded_url: str, state: SessionState
) -> None:
    store = await open_store(upgraded_url)
    session_id = (await by_title(store))[f"Long {state}"]
    engine = engine_on(store)
    async with window(store, None, session_id) as session:
        before = await told(session)
        with pytest.raises(IllegalCommandError):
            await session.takes.undo()
        branched = await engine.branch(session_id, 8)
    async with window(store, None, branched) as session:
        assert await told(session) == before[:8]
        places = [block.place for block in await session.reads.memory_blocks()]
        assert places == [(0, 0), (7, 0), (7, 1)]
        third = [event for event in await session.reads.canon() if event.prompt_index == 3]
        assert [event.role for event in third] == [Role.USER, Role.AGENT, Role.AGENT, Role.SYSTEM]
        await play(session, 1)
    await store.aclose()
