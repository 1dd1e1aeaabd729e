"""What is asked about characters twice at the same moment, as by a key pressed twice, is paid for once."""

import asyncio

import pytest

from core.domain.requests.request_kinds import RequestKind
from tests.core.rooms.cast_room import calls, change, changes, ended, mira, proposed, settled, work_of

pytestmark = pytest.mark.anyio


async def test_changes_that_are_asked_for_twice_at_the_same_moment_are_asked_and_proposed_once() -> None:
    character = mira()
    async with ended(character, entries=(changes(change()),)) as (session, made):
        work = work_of(session)
        begun = await asyncio.gather(*(work.propose_changes(with_ceremony=True) for _ in range(2)))
        for one in begun:
            await settled(session, one)
        asked = [one for one in await session.reads.requests() if one.kind is RequestKind.CEREMONY]
        assert len({str(one) for one in await calls(session)}) == len(asked) == 1
        found = await proposed(made, character)
        assert len({str((one.part, one.before, one.after)) for one in found}) == len(found)


async def test_gaps_that_are_asked_for_twice_at_the_same_moment_are_asked_once() -> None:
    character = mira()
    async with ended(character) as (session, _):
        work = work_of(session)
        asked = await asyncio.gather(*(work.fill_gaps(character) for _ in range(2)))
        assert len(set(asked)) == 1
        await session.wait(asked[0])
        assert len({one.id for one in await session.reads.requests() if one.kind is RequestKind.GAPS}) == 1
