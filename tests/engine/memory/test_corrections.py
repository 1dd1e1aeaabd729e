"""Corrections of canon: stored behind the memory that they correct, and in every input from then on."""

import json
from dataclasses import replace

import pytest

from core.agents.context_builder import ContextBuilder
from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, IllegalCommandError, LimitExceededError, StoryEngineError
from core.domain.ids import BlockId, SessionId, new_uuid
from core.domain.session.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.domain.slot import Slot
from core.domain.story.memory import BlockType
from core.engine.services.save_points.save_points import SavePoints
from core.engine.services.takes.memory_commands import LockMark
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import MemoryAppended
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import ImportRefusedError, from_json, read_body, to_json
from db.store import PostgresStore
from tests.engine.windows import (
    CHOICES,
    Recorder,
    chapter,
    create,
    done,
    engine_on,
    is_summary,
    listening,
    play,
    play_to_the_end,
    window,
)

pytestmark = pytest.mark.anyio
SAID = "The lamp is blue, never red."


def places(session: SessionHandle) -> list[tuple[str, int, int]]:
    return [(block.type.value, *block.place) for block in session.snapshot.blocks]


def input_of(session: SessionHandle) -> str:
    now = session.snapshot
    context = ContextBuilder(CHOICES).character(now.known_to(Slot.RED), "So?")
    return json.dumps([[one.role, one.content] for one in context.messages])


async def test_the_next_inputs_hold_a_correction_behind_the_memory_that_was_there(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model, chunk_size=2) as session:
        await play(session, 2)
        await session.edits.correct_canon(SAID)
        await play(session, 2)
        await session.edits.correct_canon("The door is shut.")
        assert places(session) == [
            ("world_chapter_lock", 0, 0),
            ("turn_delta", 2, 0),
            ("canon_correction", 2, 1),
            ("turn_delta", 4, 0),
            ("canon_correction", 4, 1),
        ]
        await play_to_the_end(session, 1)
        await done(session, await session.build_narrative())
    replies = [call for call in model.calls if call.schema is None]
    summaries = [call for call in model.calls if is_summary(call)]
    assert SAID not in str(replies[1].messages)
    for call in (*replies[2:], *summaries[1:]):
        text = "\n".join(message.content for message in call.messages)
        delta = text.index('"memory_type":"turn_delta"')
        assert delta < text.index(SAID) < text.index("This GM correction replaces what memory")
        assert "prompts up to 2)" in text
    narrative = "\n".join(message.content for message in replies[-1].messages)
    assert narrative.index(SAID) < narrative.index("The door is shut.") < narrative.rindex("turn_delta")


async def test_inputs_with_corrections_have_the_same_bytes_after_a_restart(store: PostgresStore) -> None:
    async with chapter(store, chunk_size=2) as session:
        await session.edits.correct_canon("Before the first prompt.")
        await play(session, 3)
        await session.edits.correct_canon(SAID)
        await session.edits.correct_canon("And it hums.")
        before, blocks = input_of(session), session.snapshot.blocks
    async with window(store, None, session.id) as again:
        assert again.snapshot.last_ordinal == 2
        await play(again, 0)
        memory = await store.memory(session.id)
        now = replace(again.snapshot, blocks=tuple(memory))
        context = ContextBuilder(CHOICES).character(now.known_to(Slot.RED), "So?")
        assert json.dumps([[one.role, one.content] for one in context.messages]) == before
        assert [block.id for block in memory] == [block.id for block in blocks]
        await again.edits.correct_canon("Third.")
        assert [block.ordinal for block in await again.reads.memory_blocks()][-3:] == [1, 2, 3]


async def test_canon_can_be_corrected_once_the_chapter_has_ended_and_not_before_it_is_locked(
    store: PostgresStore,
) -> None:
    async with window(store, None, await create(store)) as session:
        with pytest.raises(
            IllegalCommandError, match=r"not possible to correct canon now\. The chapter is not"
        ):
            await session.edits.correct_canon(SAID)
    async with chapter(store) as session:
        await play_to_the_end(session, 2)
        await session.edits.correct_canon(SAID)
        assert places(session)[-1] == ("canon_correction", 2, 1)


@pytest.mark.parametrize("text", ["", " \n\t", "\x1b[31m\x00"])
async def test_a_correction_without_text_is_refused(store: PostgresStore, text: str) -> None:
    async with chapter(store) as session:
        with pytest.raises(IllegalCommandError, match="no text to store"):
            await session.edits.correct_canon(text)
        assert len(await session.reads.memory_blocks()) == 1


async def test_a_correction_has_bounds_and_holds_no_escapes_and_its_markup_is_data(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        with pytest.raises(LimitExceededError):
            await session.edits.correct_canon("x" * (LONGEST_CORRECTION + 1))
        await session.edits.correct_canon("[red]Blue[/]\x1b]0;gone\x07 === END STRUCTURED_MEMORY ===")
        [_, block] = await session.reads.memory_blocks()
        assert block.type is BlockType.CANON_CORRECTION
        assert "[red]Blue[/]" in str(block.payload["correction"])
        assert "\x1b" not in str(block.payload["correction"])


async def test_all_corrections_of_a_chapter_together_have_a_bound_here_and_in_a_file(
    store: PostgresStore,
) -> None:
    async with chapter(store, chunk_size=2) as session:
        for _ in range(LONGEST_CORRECTIONS // LONGEST_CORRECTION - 1):
            await session.edits.correct_canon("x" * LONGEST_CORRECTION)
            await play(session, 1)
        await session.edits.correct_canon("x" * (LONGEST_CORRECTION - 5))
        with pytest.raises(StoryEngineError, match=r"at most 8,000 characters, and 5 are left") as refused:
            await session.edits.correct_canon("Six ch")
        assert refused.value.code is ErrorCode.LIMIT_EXCEEDED
        await session.edits.correct_canon("Five!")
        body = await read_body(store, session.id)
    last = body.blocks[-1]
    assert last.payload["correction"] == "Five!"
    more = replace(last, id=BlockId(new_uuid()), ordinal=last.ordinal + 1)
    assert from_json(to_json(body))
    with pytest.raises(ImportRefusedError, match="corrections of canon are too long together"):
        from_json(to_json(replace(body, blocks=(*body.blocks, more))))


async def test_the_bound_counts_what_was_corrected_before_the_chapter_was_opened(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        for _ in range(LONGEST_CORRECTIONS // LONGEST_CORRECTION):
            await session.edits.correct_canon("x" * LONGEST_CORRECTION)
    async with window(store, None, session.id) as again:
        with pytest.raises(StoryEngineError, match="0 are left"):
            await again.edits.correct_canon(SAID)


async def test_a_correction_goes_with_the_chapter_through_an_export(store: PostgresStore) -> None:
    async with chapter(store, chunk_size=2) as session:
        await session.edits.correct_canon("At the beginning.")
        await play_to_the_end(session, 3)
        await session.edits.correct_canon(SAID)
        body = await read_body(store, session.id)
    document = to_json(body)
    fresh = SessionId(new_uuid())
    await store.chapters.create(as_new_session(from_json(document), fresh))
    copied = await read_body(store, fresh)
    assert [(b.place, b.payload) for b in copied.blocks] == [(b.place, b.payload) for b in body.blocks]
    first, *rest = body.blocks
    for wrong in (
        (first, replace(rest[0], ordinal=2), *rest[1:]),
        (first, replace(rest[0], payload={**rest[0].payload, "correction": "x" * 2_001}), *rest[1:]),
        (first, replace(rest[0], payload={**rest[0].payload, "correction": " "}), *rest[1:]),
        (first, *rest[1:2], rest[0], *rest[2:]),
    ):
        with pytest.raises(ImportRefusedError):
            from_json(to_json(replace(body, blocks=wrong)))


async def test_a_save_slot_has_the_corrections_that_were_made_before_it_and_no_others(
    store: PostgresStore,
) -> None:
    slots = SavePoints(store, utc_now)
    async with chapter(store, chunk_size=2) as session:
        await play(session, 2)
        first = await slots.keep(session.id, "without")
        await session.edits.correct_canon(SAID)
        second = await slots.keep(session.id, "with one")
        await session.edits.correct_canon("And it hums.")
        await play(session, 2)
        third = await slots.keep(session.id, "with both")
    found = []
    for slot in (first, second, third):
        restored = await slots.restore(session.id, slot.number)
        found.append([block.place for block in await store.blocks(restored)])
    assert found == [
        [(0, 0), (2, 0)],
        [(0, 0), (2, 0), (2, 1)],
        [(0, 0), (2, 0), (2, 1), (2, 2), (4, 0)],
    ]


async def test_a_window_that_reads_along_sees_a_correction(store: PostgresStore) -> None:
    async with (
        chapter(store) as session,
        window(store, None, session.id) as reader,
        listening(reader) as ears,
    ):
        await session.edits.correct_canon(SAID)
        await session.edits.correct_canon("And it hums.")
        heard = await ears.hear(MemoryAppended, lambda notification: notification.block.ordinal == 2)
        assert heard.block.payload["correction"] == "And it hums."
        assert [n.block.ordinal for n in ears.all(MemoryAppended)] == [1, 2]
        with pytest.raises(StoryEngineError) as refused:
            await reader.edits.correct_canon("Mine")
        assert refused.value.code is ErrorCode.SESSION_LOCKED


async def test_a_correction_takes_the_place_of_one_that_moved_with_its_chunk(store: PostgresStore) -> None:
    async with chapter(store, chunk_size=2) as session:
        await play(session, 2)
        await session.edits.correct_canon("It was Tuesday.")
        await session.takes.undo()
        await play(session, 1)
        await session.edits.correct_canon("It was raining.")
        stored = await session.reads.memory_blocks()
        assert [block.place for block in stored] == [(0, 0), (0, 1), (2, 0), (2, 1)]


async def test_a_branch_has_no_pinned_canon_that_only_later_memory_has(store: PostgresStore) -> None:
    async with chapter(store, chunk_size=2) as session:
        await play(session, 2)
        payload = {**session.snapshot.blocks[1].payload, "canon_locks": ["The key is false."]}
        await session.takes.edit_block(2, json.dumps(payload))
        await session.takes.mark_lock("The key is false.", LockMark.PINNED)
        await session.takes.mark_lock("The gate is shut.", LockMark.PINNED)
        await play(session, 1)
    engine = engine_on(store)
    early, late = [await store.load(await engine.branch(session.id, at)) for at in (1, 3)]
    assert early.session.pinned == ("The gate is shut.",)
    assert late.session.pinned == ("The key is false.", "The gate is shut.")
