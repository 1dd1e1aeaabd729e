"""An account whose places are counted over the windows of one database."""

import asyncio

import pytest

from core.domain.requests.request import BackgroundRequest, ReplyRequest, Request
from core.domain.requests.request_kinds import Level, RequestKind
from core.domain.slot import Slot
from core.engine.changes.moves import new_request
from core.gateway import lanes
from core.gateway.lanes import Lane
from core.gateway.places import LanePlace
from tests.core.gateway.test_lanes import Busy, until_still
from tests.core.values.sessions import NOW, SESSION_ID
from tests.store.in_memory.memory_queue import MemoryQueue, SharedQueue

pytestmark = pytest.mark.anyio


async def test_a_call_that_waits_for_another_window_holds_up_none_that_is_more_urgent() -> None:
    """The order is that of all windows: no call has a place here before it has one there."""
    places, busy, began = MemoryQueue(SharedQueue(), {}), Busy(), list[str]()
    lane = Lane(lambda: busy, concurrency=1)
    lane.share("work", places)
    places.subscribe(lambda _: lane.wake())

    def work(level: Level) -> BackgroundRequest:
        new = new_request(SESSION_ID, NOW)
        return BackgroundRequest(kind=RequestKind.ASSIST, priority=level.first, **new)

    async def take(name: str, request: Request) -> None:
        async with lane.turn(LanePlace(request.priority), request):
            began.append(name)

    elsewhere, low, normal = work(Level.NORMAL), work(Level.LOW), work(Level.NORMAL)
    assert await places.take_place("work", 1, elsewhere)
    tasks = [asyncio.create_task(take(name, one)) for name, one in (("low", low), ("normal", normal))]
    await until_still()
    await places.leave_place("work", elsewhere)
    await asyncio.gather(*tasks)
    assert began == ["normal", "low"]
    await lane.aclose()


class SlowToTell(MemoryQueue):
    """A database that a call of the play reaches late: any other call that asks meanwhile is served first."""

    def __init__(self) -> None:
        super().__init__(SharedQueue(), {})
        self.goes_on = asyncio.Event()

    async def take_place(self, account: str, most: int, request: Request) -> bool:
        if not request.spec.is_background:
            await self.goes_on.wait()
        return await super().take_place(account, most, request)


async def test_work_that_made_room_for_a_prompt_is_not_begun_again_before_the_prompt() -> None:
    places, busy, began = SlowToTell(), Busy(), list[str]()
    lane = Lane(lambda: busy, concurrency=1)
    lane.share("work", places)
    places.subscribe(lambda _: lane.wake())
    of_work = BackgroundRequest(
        kind=RequestKind.ASSIST, priority=Level.LOW.first, **new_request(SESSION_ID, NOW)
    )
    of_play = ReplyRequest(slot=Slot.RED, text="And you?", **new_request(SESSION_ID, NOW))

    async def work() -> None:
        """Hold the place until it is wanted, and ask for it again at once, as a worker does."""
        for attempt in ("work", "work again"):
            wanted = asyncio.Event()
            async with lane.turn(LanePlace(9, wanted.set), of_work):
                began.append(attempt)
                if attempt == "work":
                    await wanted.wait()

    async def play() -> None:
        async with lane.turn(LanePlace(0), of_play):
            began.append("prompt")

    working = asyncio.create_task(work())
    await until_still()
    playing = asyncio.create_task(play())
    await until_still()
    assert began == ["work"]
    places.goes_on.set()
    await asyncio.gather(working, playing)
    assert began == ["work", "prompt", "work again"]
    await lane.aclose()


class SlowToForget(MemoryQueue):
    """A database that hears late that a place is free: a call that begins meanwhile is served first."""

    def __init__(self) -> None:
        super().__init__(SharedQueue(), {})
        self.goes_on = asyncio.Event()

    async def leave_place(self, account: str, request: Request) -> None:
        await self.goes_on.wait()
        await super().leave_place(account, request)


async def test_the_next_call_of_a_request_keeps_its_place_although_the_last_one_is_left_late() -> None:
    places, busy, holds = SlowToForget(), Busy(), asyncio.Event()
    lane = Lane(lambda: busy, concurrency=1)
    lane.share("work", places)
    reply = ReplyRequest(slot=Slot.RED, text="And you?", **new_request(SESSION_ID, NOW))
    other = ReplyRequest(slot=Slot.RED, text="And she?", **new_request(SESSION_ID, NOW))

    async def call_twice() -> None:
        async with lane.turn(LanePlace(0), reply):
            pass
        async with lane.turn(LanePlace(0), reply):
            holds.set()
            await asyncio.Event().wait()

    calling = asyncio.create_task(call_twice())
    await until_still()
    places.goes_on.set()
    await holds.wait()
    await until_still()
    assert not await places.take_place("work", 1, other), "another window has the place of a call that runs"
    calling.cancel()
    await asyncio.wait({calling})
    await lane.aclose()


async def test_a_place_that_cannot_be_left_holds_the_next_call_of_its_request_up_for_some_seconds_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "LEAVE_SECONDS", 0.0)
    places, busy = SlowToForget(), Busy()
    lane = Lane(lambda: busy, concurrency=1)
    lane.share("work", places)
    reply = ReplyRequest(slot=Slot.RED, text="And you?", **new_request(SESSION_ID, NOW))
    async with asyncio.timeout(60):
        for _ in range(2):
            async with lane.turn(LanePlace(0), reply):
                pass
    places.goes_on.set()
    await lane.aclose()
