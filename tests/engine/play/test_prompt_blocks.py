"""Prompt blocks in a chapter that is played: edited at any time, in the next input, kept with the chapter."""

import asyncio
import json
from dataclasses import replace

import psycopg
import pytest

from core.domain.agent_role import AgentRole
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError, SessionLockedError, StoryEngineError
from core.domain.ids import SessionId, new_uuid
from core.domain.session.prompt_block import LONGEST_PROMPT_BLOCK, NO_PROMPT_BLOCKS, PromptBlock, PromptBlocks
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.scripts.player import ScriptPlayer
from core.engine.services.save_points.save_points import SavePoints
from core.engine.sync.notifications import PromptBlocksChanged
from core.exchange.scripts.chapter_script import parse_chapter_script
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import ImportRefusedError, from_json, read_body, to_json
from core.providers.base import ModelRequest
from core.text.canonical_json import canonical, checksum
from db.store import PostgresStore
from tests.engine.windows import (
    CHOICES,
    Recorder,
    chapter,
    create,
    listening,
    play,
    play_to_the_end,
    scripted,
    window,
)
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio

RAIN = PromptBlock(id=1, name="Weather", text="It always rains here.", roles=(AgentRole.CHARACTER,))
GRIM = PromptBlock(id=2, name="Grim", text="Nobody laughs.", variants=("grim",))
BLOCKS = PromptBlocks(variants=("grim",), blocks=(RAIN, GRIM))


def sent(call: ModelRequest) -> str:
    return "\n".join(message.content for message in call.messages)


async def test_the_next_call_has_what_was_edited_and_its_artifact_names_it(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        await play(session, 1)
        await session.edits.edit_prompt_blocks(BLOCKS)
        await play(session, 1)
        await session.edits.edit_prompt_blocks(BLOCKS.with_variant("grim"))
        await play_to_the_end(session, 1)
        artifacts = await session.reads.artifacts()
    replies = [call for call in model.calls if call.schema is None]
    assert ["It always rains" in sent(call) for call in replies] == [False, True, True]
    assert ["Nobody laughs" in sent(call) for call in replies] == [False, False, True]
    [summary] = [call for call in model.calls if call.schema and call.schema.name == "turn_delta"]
    assert "Nobody laughs" in sent(summary)
    assert "It always rains" not in sent(summary)
    used = [one.prompt_version.partition("+")[2].partition(",")[0] for one in artifacts]
    assert used == ["", "", "default(1 block", "grim(2 blocks", "grim(1 block"]


async def test_blocks_are_edited_in_every_state_and_are_there_after_a_restart(store: PostgresStore) -> None:
    session_id = await create(store)
    async with window(store, None, session_id) as session:
        assert session.snapshot.prompt_blocks == NO_PROMPT_BLOCKS
        await session.edits.edit_prompt_blocks(BLOCKS)
    async with chapter(store) as session:
        await session.edits.edit_prompt_blocks(BLOCKS)
        await play_to_the_end(session, 2)
        assert session.snapshot.session.state is SessionState.ENDED
        await session.edits.edit_prompt_blocks(BLOCKS.with_variant("grim"))
        ended = session.id
    for stored, wanted in ((session_id, BLOCKS), (ended, BLOCKS.with_variant("grim"))):
        async with window(store, None, stored) as again:
            assert again.snapshot.prompt_blocks == wanted


async def test_another_window_hears_of_it_and_cannot_edit(store: PostgresStore) -> None:
    async with chapter(store) as session, window(store, None, session.id) as other:
        async with listening(other) as heard:
            await session.edits.edit_prompt_blocks(BLOCKS)
            await heard.hear(PromptBlocksChanged)
        assert other.snapshot.prompt_blocks == BLOCKS
        with pytest.raises(SessionLockedError):
            await other.edits.edit_prompt_blocks(NO_PROMPT_BLOCKS)


async def test_what_is_out_of_bounds_or_leaves_no_room_is_refused_and_nothing_changes(
    store: PostgresStore,
) -> None:
    long = replace(RAIN, text="x" * LONGEST_PROMPT_BLOCK)
    async with chapter(store) as session:
        await session.edits.edit_prompt_blocks(BLOCKS)
        with pytest.raises(IllegalCommandError, match="at most 4,000"):
            await session.edits.edit_prompt_blocks(BLOCKS.with_block(replace(RAIN, text=f"{long.text}x")))
        await session.edits.edit_prompt_blocks(BLOCKS.with_block(long))
        narrow = {role: replace(choice, max_input_tokens=4_500) for role, choice in CHOICES.items()}
        stored, session_id = session.snapshot.prompt_blocks, session.id
    engine = Engine(store, scripted(), replace(CHOICES, roles=narrow), label="narrow")
    again = await engine.open(session_id)
    with pytest.raises(StoryEngineError, match="prompt blocks that are on would take"):
        await again.edits.edit_prompt_blocks(stored.with_variant("grim"))
    assert again.snapshot.prompt_blocks == stored
    # What is off takes no room: it is how a GM gets out of it.
    await again.edits.edit_prompt_blocks(stored.with_block(replace(long, is_on=False)))
    await again.aclose()


async def test_a_save_slot_and_an_export_hold_the_blocks(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await session.edits.edit_prompt_blocks(BLOCKS)
        await play(session, 1)
        slots = SavePoints(store, utc_now)
        slot = await slots.keep(session.id, "With rain")
        await session.edits.edit_prompt_blocks(NO_PROMPT_BLOCKS)
        plain = await slots.keep(session.id, "Without")
        restored = await slots.restore(session.id, slot.number)
        assert (await store.load(restored)).prompt_blocks == BLOCKS
        assert (
            await store.load(await slots.restore(session.id, plain.number))
        ).prompt_blocks == NO_PROMPT_BLOCKS
        document = to_json(await read_body(store, restored))
    assert from_json(document).prompt_blocks == BLOCKS
    copy = SessionId(new_uuid())
    await store.chapters.create(as_new_session(from_json(document), copy))
    assert (await store.load(copy)).prompt_blocks == BLOCKS


async def test_a_chapter_without_blocks_is_exported_and_saved_as_ever(store: PostgresStore) -> None:
    async with chapter(store) as session:
        body = await read_body(store, session.id)
        slot = await SavePoints(store, utc_now).keep(session.id, "Plain")
    assert b"prompt_blocks" not in to_json(body)
    assert "prompt_blocks" not in slot.document


OTHER_BLOCKS = (
    ('"order":100', '"order":99'),
    ('"order":100', '"order":"high"'),
    ('"variant":"default"', '"variant":"unknown"'),
    ('"place":"rules"', '"place":"nowhere"'),
    ('"roles":["character"]', '"roles":["director"]'),
    ('"slots":[]', '"slots":[3,3]'),
    ('"Weather"', '"Wea\\tther"'),
)


async def test_a_file_with_other_prompt_blocks_is_refused(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await session.edits.edit_prompt_blocks(BLOCKS)
        document = json.loads(to_json(await read_body(store, session.id)))
    text = canonical(document["body"]).decode()
    for old, new in OTHER_BLOCKS:
        print(new)
        assert old in text
        body = json.loads(text.replace(old, new, 1))
        forged = json.dumps({**document, "body": body, "sha256": checksum(canonical(body))})
        with pytest.raises(ImportRefusedError):
            from_json(forged.encode())


async def test_a_purge_takes_the_blocks_with_it(store: PostgresStore, url: str) -> None:
    async with chapter(store) as session:
        await session.edits.edit_prompt_blocks(BLOCKS)
    await store.chapters.archive(session.id, utc_now())
    await store.chapters.purge(session.id)
    with psycopg.connect(plain_url(url)) as raw:
        count = "SELECT count(*) FROM prompt_blocks WHERE session_id = %s"
        assert raw.execute(count, [session.id]).fetchone() == (0,)


async def test_a_preview_has_the_blocks_and_as_many_prompts_as_are_set(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await session.edits.edit_prompt_blocks(BLOCKS)
        await play(session, 16)
        session_id = session.id
    engine = Engine(store, scripted(), replace(CHOICES, recent_prompts=12), label="preview")
    made = await engine.preview(session_id, Slot.RED, "So?")
    assert "It always rains" in made.messages[0].content
    recent = next(one.text for one in made.segments if one.name == "RECENT_CONTEXT")
    numbers = [number for number in range(1, 17) if f"\n{number}) " in recent]
    assert numbers == list(range(5, 17))
    again = await engine.open(session_id)
    await asyncio.wait_for(again.wait(await again.submit_prompt(Slot.RED, "More?")), 60)
    assert again.snapshot.recent[0].prompt_index <= 3
    await again.aclose()


PLAIN_SCRIPT = """
world = "A sea."
chapter = "The lamp."
[[agent]]
name = "Kara"
[[prompt]]
text = "Who is there?"
"""
SCRIPT = f"""
variant = "grim"
{PLAIN_SCRIPT}
[[block]]
name = "Weather"
text = "It always rains here."
"""


async def test_a_headless_play_has_the_blocks_of_its_script_from_the_lock_on(store: PostgresStore) -> None:
    model = Recorder()
    async with window(store, model) as session:
        await ScriptPlayer(session, parse_chapter_script(SCRIPT), lambda _: None).play()
        assert len(model.calls) == 4
        assert all("It always rains" in sent(call) for call in model.calls)
        assert session.snapshot.prompt_blocks.variant == "grim"


async def test_a_script_that_names_no_blocks_leaves_those_of_the_gm_alone(store: PostgresStore) -> None:
    async with window(store, None) as session:
        await session.edits.edit_prompt_blocks(BLOCKS)
        await ScriptPlayer(session, parse_chapter_script(PLAIN_SCRIPT), lambda _: None).play()
        assert session.snapshot.prompt_blocks == BLOCKS
