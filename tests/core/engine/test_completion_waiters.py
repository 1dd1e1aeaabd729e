"""Waiting for a request: each is told once how it ended, or why it never will."""

import asyncio
import gc
from dataclasses import replace

import pytest

from core.domain.errors import SessionLockedError
from core.domain.request import Request, RequestState
from core.engine.sync.completion_waiters import Settlements
from tests.core.simulation import active

pytestmark = pytest.mark.anyio


def a_request() -> Request:
    """A request that waits."""
    simulation = active()
    return simulation.request(simulation.submit("One"))


def settled(request: Request) -> Request:
    return replace(request, state=RequestState.DONE)


async def test_all_who_wait_hear_of_the_end_and_of_nothing_before_it() -> None:
    settlements, request = Settlements(), a_request()
    waiting = [asyncio.create_task(settlements.wait(request.id)) for _ in range(2)]
    await asyncio.sleep(0)
    settlements.settle([request])
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting), "it is still open"
    end = settled(request)
    settlements.settle([end])
    assert await asyncio.gather(*waiting) == [end, end]
    settlements.settle([end])


async def test_one_who_stops_waiting_leaves_the_others_waiting() -> None:
    settlements, request = Settlements(), a_request()
    gone, stays = [asyncio.create_task(settlements.wait(request.id)) for _ in range(2)]
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    settlements.settle([settled(request)])
    assert (await stays).id == request.id


async def test_where_nothing_is_settled_any_more_all_are_told_until_it_is_again() -> None:
    settlements, request = Settlements(), a_request()
    waiting = asyncio.create_task(settlements.wait(request.id))
    await asyncio.sleep(0)
    settlements.fail(SessionLockedError())
    for wait in (waiting, settlements.wait(request.id)):
        with pytest.raises(SessionLockedError):
            await wait
    settlements.reopen()
    again = asyncio.create_task(settlements.wait(request.id))
    await asyncio.sleep(0)
    settlements.settle([settled(request)])
    assert (await again).id == request.id


async def test_a_failure_that_no_one_waits_for_any_more_is_not_reported_as_lost() -> None:
    lost: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
    settlements, request = Settlements(), a_request()
    waiting = asyncio.create_task(settlements.wait(request.id))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    settlements.fail(SessionLockedError())
    del settlements
    gc.collect()
    assert not lost
