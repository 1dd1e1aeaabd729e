"""Chapters of a program with takes and without audiences, in every state: everyone has heard everything, and
what is played from there on may be heard by some alone."""

import psycopg
import pytest

from core.domain.audience import EVERYONE, Audience
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.memory import BlockType
from core.domain.story.secret import Secret
from core.exchange.session_export import from_json, read_body, to_json
from db.store import open_store
from tests.engine.windows import done, engine_on, window
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

BEFORE_AUDIENCES = "story_0012"
KEPT = (
    b"SELECT session_id, event_id, prompt_index, take, ordinal, role, slot, text FROM event ORDER BY 1, 2",
    b"SELECT session_id, block_id, type, from_prompt, to_prompt, ordinal, revision, made_from, json_text"
    b" FROM memory_block ORDER BY 1, 2",
    b"SELECT session_id, prompt_index, take FROM canon ORDER BY 1, 2",
    b"SELECT session_id, to_prompt, ordinal, from_prompt, block_id FROM memory_canon ORDER BY 1, 2, 3",
    b"SELECT id, state, prompt_index, boundary, canon_version, pinned FROM session ORDER BY 1",
    b"SELECT session_id, request_id, kind, state, text FROM llm_request ORDER BY 1, 2",
    b"SELECT session_id, draft_id, version, text FROM narrative_draft ORDER BY 1, 2",
)
RED, ORANGE = Audience.of([Slot.RED]), Audience.of([Slot.ORANGE])


async def make(url: str) -> None:
    """Make such a database."""
    await make_old(url, BEFORE_AUDIENCES)
    await add_every_state(url)
    await add_long_chapters(url, with_takes=True)


def kept(url: str) -> list[object]:
    with psycopg.connect(plain_url(url)) as connection:
        return [connection.execute(query).fetchall() for query in KEPT]


async def test_what_was_played_in_any_state_was_heard_by_everyone_and_stays_as_it_was(old_url: str) -> None:
    before = kept(old_url)
    store = await open_store(old_url)
    assert kept(old_url) == before
    sessions = await by_title(store)
    assert sessions.keys() == {"Old", *SessionState, *(f"Long {state}" for state in LONG)}
    for session_id in sessions.values():
        snapshot = await store.load(session_id)
        assert (snapshot.session.present, snapshot.secrets, snapshot.reveals) == (EVERYONE, (), ())
        assert all(event.audience.is_everyone for event in await store.log(session_id))
        blocks = [*await store.blocks(session_id), *await store.revisions(session_id)]
        assert all(block.audience.is_everyone for block in blocks)
        newest = await store.newest_canon(session_id, 10_000, known_to=Slot.RED)
        assert list(newest) == list(await store.canon(session_id))
    long = sessions[f"Long {SessionState.ACTIVE}"]
    assert list(await store.takes(long)) == [*[1] * 8, 2, 1]
    assert [event.prompt_index for event in (await store.load(long)).undone] == [10, 10]
    assert [block.revision for block in await store.revisions(long)] == [1]
    await check_upgraded(store, old_url)
    await store.aclose()


@pytest.mark.parametrize("state", [SessionState.ACTIVE, SessionState.SUMMARIZING, SessionState.RESETTING])
async def test_an_older_chapter_is_played_on_with_a_whisper_a_line_and_a_secret(
    upgraded_url: str, state: SessionState
) -> None:
    store = await open_store(upgraded_url)
    session_id = (await by_title(store))[f"Long {state}"]
    async with window(store, None, session_id) as session:
        await session.wait_idle()
        if state is SessionState.ACTIVE:
            await session.takes.redo()
            assert session.snapshot.session.prompt_index == LONG[state][0] + 1
        await session.scene.edit_secrets(
            [Secret(number=1, text="The key is brass.", known_by=RED, reveal_at=1, reveal_to=ORANGE)]
        )
        await session.scene.narrate("Snow falls.", hearers=RED)
        await done(session, await session.submit_prompt(Slot.RED, "Only you.", heard_by=RED))
        boundary = session.snapshot.session.boundary
        while session.snapshot.session.boundary == boundary:
            await done(session, await session.submit_prompt(Slot.ORANGE, "And you?"))
            await session.wait_idle()
        deltas = [one for one in await session.reads.memory_blocks() if one.type is BlockType.TURN_DELTA]
        last = [block for block in deltas if block.last == session.snapshot.session.boundary]
        assert [block.audience for block in last] == [EVERYONE, RED, ORANGE]
        assert all(block.audience.is_everyone for block in deltas if block not in last)
        texts = {
            slot: [event.text for event in session.snapshot.known_to(slot).events]
            for slot in (Slot.RED, Slot.ORANGE)
        }
        assert {"Snow falls.", "Only you."} <= set(texts[Slot.RED])
        assert not {"Snow falls.", "Only you."} & set(texts[Slot.ORANGE])
        assert "The key is brass." in texts[Slot.ORANGE]
        assert session.snapshot.known_to(Slot.ORANGE).secrets == ("The key is brass.",)
        body = await read_body(store, session_id)
        assert from_json(to_json(body)) == body
    await store.aclose()


async def test_an_older_chapter_that_has_ended_is_branched_and_goes_on_in_a_whisper(
    upgraded_url: str,
) -> None:
    store = await open_store(upgraded_url)
    sessions = await by_title(store)
    branched = await engine_on(store).branch(sessions[f"Long {SessionState.ENDED}"], 8)
    async with window(store, None, branched) as session:
        assert session.snapshot.session.present == EVERYONE
        await done(session, await session.submit_prompt(Slot.RED, "Only you.", heard_by=RED))
        assert "Only you." not in [event.text for event in session.snapshot.known_to(Slot.ORANGE).events]
    await store.aclose()
