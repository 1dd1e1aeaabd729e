"""Memory that is edited by hand beside a call that makes the same memory again, on a store in memory."""

import pytest

from core.domain.errors import IllegalCommandError
from core.domain.requests.request import SummaryRequest
from core.domain.story.memory import MemoryBlock, compact_json
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from tests.core.engine.services.takes.test_takes import played
from tests.core.rooms.takes_model import CHUNK, done

pytestmark = pytest.mark.anyio
FAILS = Entry(
    match=ScriptMatch.model_validate({"schema": "turn_delta", "model": "down"}), fault=Fault.SERVER_ERROR
)
PROMPTS = tuple(f"Prompt {number}" for number in range(2 * CHUNK))


def with_lock(block: MemoryBlock, lock: str) -> str:
    return compact_json({**block.payload, "canon_locks": [lock]})


async def first_block(session: SessionHandle) -> MemoryBlock:
    return next(block for block in await session.reads.memory_blocks() if block.last == CHUNK)


async def test_a_call_that_failed_to_make_memory_again_is_not_retried_over_the_read_the_gm() -> None:
    async with played(*PROMPTS, entries=(FAILS,)) as (_, session):
        before = await session.reads.memory_blocks()
        for last in (CHUNK, 2 * CHUNK):
            request = await session.wait(await session.takes.rebuild_block(last, model="down"))
            assert request.retry_after is not None, "it would be tried again by itself"
            await session.takes.edit_block(2 * CHUNK, with_lock(before[-1], f"The gate is shut, {last}."))
            left = [one.prompts.last for one in session.snapshot.failed(SummaryRequest)]
            assert left == ([CHUNK] if last == CHUNK else []), "another block is still made again"


async def test_an_edit_of_memory_that_was_made_again_meanwhile_is_refused() -> None:
    async with played(*PROMPTS) as (_, session):
        read = await first_block(session)
        await done(session, await session.takes.rebuild_block(CHUNK))
        again = await first_block(session)
        with pytest.raises(IllegalCommandError, match="made again meanwhile; nothing was changed"):
            await session.takes.edit_block(CHUNK, with_lock(read, "Shut."), read=read.id)
        assert await first_block(session) == again
        await session.takes.edit_block(CHUNK, with_lock(again, "Shut."), read=again.id)
        assert (await first_block(session)).is_by_gm
