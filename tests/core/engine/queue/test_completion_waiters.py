"""Waiting for a request: each is told once how it ended, or why it never will."""

import asyncio
import gc
from dataclasses import replace

import pytest

from core.domain.errors import SessionLockedError
from core.domain.requests.request import Request, RequestState
from core.engine.sync.completion_waiters import CompletionWaiters
from tests.core.rooms.simulation import active

pytestmark = pytest.mark.anyio


def a_request() -> Request:
    """A request that waits."""
    simulation = active()
    return simulation.request(simulation.submit("One"))


def settled(request: Request) -> Request:
    return replace(request, state=RequestState.DONE)


async def test_all_who_wait_hear_of_the_end_and_of_nothing_before_it() -> None:
    waiters, request = CompletionWaiters(), a_request()
    waiting = [asyncio.create_task(waiters.wait(request.id)) for _ in range(2)]
    await asyncio.sleep(0)
    waiters.settle([request])
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting), "it is still open"
    end = settled(request)
    waiters.settle([end])
    assert await asyncio.gather(*waiting) == [end, end]
    waiters.settle([end])


async def test_one_who_stops_waiting_leaves_the_others_waiting() -> None:
    waiters, request = CompletionWaiters(), a_request()
    gone, stays = [asyncio.create_task(waiters.wait(request.id)) for _ in range(2)]
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    waiters.settle([settled(request)])
    assert (await stays).id == request.id


async def test_where_nothing_is_settled_any_more_all_are_told_until_it_is_again() -> None:
    waiters, request = CompletionWaiters(), a_request()
    waiting = asyncio.create_task(waiters.wait(request.id))
    await asyncio.sleep(0)
    waiters.fail(SessionLockedError())
    for wait in (waiting, waiters.wait(request.id)):
        with pytest.raises(SessionLockedError):
            await wait
    waiters.reopen()
    again = asyncio.create_task(waiters.wait(request.id))
    await asyncio.sleep(0)
    waiters.settle([settled(request)])
    assert (await again).id == request.id


async def test_a_failure_that_no_one_waits_for_any_more_is_not_reported_as_lost() -> None:
    lost: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
    waiters, request = CompletionWaiters(), a_request()
    waiting = asyncio.create_task(waiters.wait(request.id))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    waiters.fail(SessionLockedError())
    del waiters
    gc.collect(1)
    assert not lost
