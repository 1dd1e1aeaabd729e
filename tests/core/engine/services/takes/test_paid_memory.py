"""Memory of a chunk that counts again as it was is not paid for a second time (promise 1)."""

import asyncio

import pytest

from core.domain.requests.request import RequestState, SummaryRequest
from core.domain.slot import Slot
from core.engine.services.takes.memory_commands import LockMark
from core.engine.session.session_handle import SessionHandle
from core.providers.base import ModelRequest
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from tests.core.rooms.bank_room import calls, extractions, fact, items, read, scan
from tests.core.rooms.bank_room import room as bank_room
from tests.core.rooms.takes_model import CHUNK, done, play, room
from tests.core.values.sessions import delta_payload
from tests.engine.windows import GatedModel

pytestmark = pytest.mark.anyio
DELTA = ScriptMatch.model_validate({"schema": "turn_delta"})


async def summary_calls(session: SessionHandle) -> int:
    """Return how many calls for summaries were made."""
    asked = {one.id for one in await session.reads.requests() if isinstance(one, SummaryRequest)}
    return sum(call.request_id in asked for call in await session.reads.artifacts())


async def test_a_prompt_that_is_redone_at_the_end_of_a_chunk_has_its_memory_without_a_further_call() -> None:
    async with room().opened() as session:
        await play(session, "One", "Two", "Three")
        before = (await session.reads.memory_blocks())[-1]
        await session.takes.undo()
        await session.takes.redo()
        await session.wait_idle()
        after = (await session.reads.memory_blocks())[-1]
        assert session.snapshot.session.boundary == CHUNK
        assert after.id != before.id
        assert (after.payload, after.json_text) == (before.payload, before.json_text)
        assert await summary_calls(session) == 1


async def test_a_take_that_counts_again_has_its_memory_without_a_further_call() -> None:
    async with room().opened() as session:
        await play(session, "One", "Two", "Three")
        await session.takes.correct_reply("Another reply.")
        await session.wait_idle()
        for take in (1, 2):
            await session.takes.choose(take)
            await session.wait_idle()
        assert session.snapshot.session.boundary == CHUNK
        assert await summary_calls(session) == 2


async def test_memory_of_what_has_changed_and_memory_that_is_built_again_are_asked_for() -> None:
    async with room().opened() as session:
        await play(session, "One", "Two", "Three")
        await done(session, await session.takes.rebuild_block(CHUNK))
        assert await summary_calls(session) == 2
        await session.takes.mark_lock("The gate is closed.", LockMark.PINNED)
        await session.takes.undo()
        await session.takes.redo()
        await session.wait_idle()
        assert await summary_calls(session) == 3


async def test_an_answer_that_was_rejected_is_shown_to_its_author_where_the_second_one_did_not_come() -> None:
    made = room(
        Entry(match=DELTA, text="no JSON", times=1), Entry(match=DELTA, fault=Fault.CONTENT_FILTERED, times=1)
    )
    async with made.opened() as session:
        await play(session, "One", "Two", "Three")
        [failed] = session.snapshot.failed(SummaryRequest)
        assert await summary_calls(session) == 2
        await session.retry(failed.id)
        await done(session, failed.id)
        assert await summary_calls(session) == 3


async def test_memory_that_is_too_long_and_on_record_is_kept_where_no_shorter_one_comes() -> None:
    long = {**delta_payload(), "canon_locks": [f"The {'very ' * 12}tall gate {n}." for n in range(99)]}
    made = room(
        Entry(match=DELTA, payload=long, times=1),
        Entry(match=DELTA, fault=Fault.CONTENT_FILTERED, calls=(3,)),
    )
    is_held = asyncio.Event()

    def asked() -> list[ModelRequest]:
        return [request for request in model.calls if DELTA.accepts(request)]

    def is_second(request: ModelRequest) -> bool:
        if DELTA.accepts(request) and len(asked()) == 2:
            is_held.set()
        return is_held.is_set() and len(asked()) == 2

    model = GatedModel(made.provider, when=is_second)
    made.provider = model  # type: ignore[assignment]  # it holds the second answer up
    async with made.opened() as session:
        for text in ("One", "Two", "Three"):
            await session.wait(await session.submit_prompt(Slot.RED, text))
        await is_held.wait()
    async with made.opened() as session:
        for failed in session.snapshot.failed(SummaryRequest):
            await session.retry(failed.id)
        await session.wait_idle()
        assert len(asked()) == 3
        assert session.snapshot.session.boundary == CHUNK
        assert await summary_calls(session) == 3


async def test_a_summary_whose_answers_were_both_rejected_is_asked_for_from_the_beginning() -> None:
    async with room(Entry(match=DELTA, text="no JSON", times=2)).opened() as session:
        await play(session, "One", "Two", "Three")
        [failed] = session.snapshot.failed(SummaryRequest)
        await session.retry(failed.id)
        await done(session, failed.id)
        assert await summary_calls(session) == 3


async def test_a_prompt_that_is_redone_at_the_end_of_a_chunk_is_not_read_for_the_bank_again() -> None:
    async with bank_room(scan(facts=[fact()])).opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await read(session)
        await session.takes.undo()
        await session.takes.redo()
        await read(session)
        assert [item.name for item in await items(session)] == ["The brass key"]
        assert [one.state for one in await extractions(session)].count(RequestState.DONE) == 1
        assert len(await calls(session)) == 1
