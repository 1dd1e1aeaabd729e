"""Places for calls to one account: who goes first, and who makes room."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.gateway.places import LanePlace, Places

pytestmark = pytest.mark.anyio


class Call:
    """A call that holds its place until it is told to end, or asked to make room."""

    def __init__(self, places: Places, priority: int, log: list[int], *, is_background: bool = False) -> None:
        self._places = places
        self._log = log
        self._end = asyncio.Event()
        self.was_asked = 0
        yields: Callable[[], None] | None = self._make_room if is_background else None
        self.place = LanePlace(priority, yields)
        self.task = asyncio.create_task(self._run())

    def _make_room(self) -> None:
        self.was_asked += 1
        self._end.set()

    async def _run(self) -> None:
        async with self._places.held(self.place):
            self._log.append(self.place.priority)
            await self._end.wait()

    def end(self) -> None:
        self._end.set()


async def still() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_most_urgent_call_goes_first_and_among_equals_the_one_that_waited_longest() -> None:
    places, log = Places(1), list[int]()
    first = Call(places, 20, log)
    await still()
    waiting = [Call(places, priority, log) for priority in (110, 20, 205, 10, 20)]
    await still()
    order = [first, waiting[3], waiting[1], waiting[4], waiting[0], waiting[2]]
    for call in order:
        assert not call.task.done()
        call.end()
        await still()
        assert call.task.done()
    assert log == [20, 10, 20, 20, 110, 205]


async def test_a_call_of_the_play_gets_the_place_of_work_beside_the_play() -> None:
    places, log = Places(1), list[int]()
    background = Call(places, 200, log, is_background=True)
    await still()
    reply = Call(places, 20, log)
    await still()
    assert (background.was_asked, background.task.done(), log) == (1, True, [200, 20])
    reply.end()
    await reply.task


async def test_two_calls_of_the_play_each_get_a_place_of_their_own() -> None:
    places, log = Places(2), list[int]()
    background = [Call(places, 200, log, is_background=True) for _ in range(2)]
    await still()
    replies = [Call(places, 20, log) for _ in range(2)]
    await still()
    assert [call.was_asked for call in background] == [1, 1]
    for call in replies:
        call.end()
        await call.task


async def test_work_beside_the_play_makes_no_room_where_a_place_is_free() -> None:
    places, log = Places(2), list[int]()
    background = Call(places, 200, log, is_background=True)
    await still()
    reply = Call(places, 20, log)
    await still()
    assert (background.was_asked, log) == (0, [200, 20])
    for call in (background, reply):
        call.end()
        await call.task


async def test_a_model_on_this_machine_works_beside_the_play_only_while_nothing_else_asks_it() -> None:
    places, log = Places(None, one_for_background=True), list[int]()
    replies = [Call(places, 20, log) for _ in range(2)]
    await still()
    assert log == [20, 20], "the play itself has no limit"
    background = Call(places, 200, log, is_background=True)
    await still()
    assert log == [20, 20]
    for call in replies:
        call.end()
        await call.task
    await still()
    assert log == [20, 20, 200]
    again = Call(places, 20, log)
    await still()
    assert (background.was_asked, background.task.done()) == (1, True)
    again.end()
    await again.task


async def test_a_call_that_is_cancelled_while_it_waits_gives_its_turn_to_the_next() -> None:
    places, log = Places(1), list[int]()
    first = Call(places, 20, log)
    await still()
    second, third = Call(places, 20, log), Call(places, 20, log)
    await still()
    second.task.cancel()
    first.end()
    await still()
    assert (second.task.cancelled(), log) == (True, [20, 20])
    third.end()
    await third.task
    after = Call(places, 20, log)
    await still()
    assert len(log) == 3, "no place was lost"
    after.end()
    await after.task


@given(
    limit=st.integers(1, 3),
    steps=st.lists(
        st.tuples(st.sampled_from(["play", "background", "end", "cancel"]), st.integers(0, 9)), max_size=40
    ),
)
def test_never_do_more_calls_run_than_may_and_every_place_is_given_back(
    limit: int, steps: list[tuple[str, int]]
) -> None:
    async def work() -> None:
        places, log = Places(limit), list[int]()
        calls: list[Call] = []
        for step, number in steps:
            alive = [call for call in calls if not call.task.done()]
            if step in ("play", "background"):
                is_background = step == "background"
                calls.append(Call(places, 200 * is_background + number, log, is_background=is_background))
            elif alive and step == "end":
                alive[number % len(alive)].end()
            elif alive:
                alive[number % len(alive)].task.cancel()
            await still()
            assert len(places._running) <= limit
            waits = any(not place.is_background for place, _ in places._waiting)
            assert not (waits and any(place.is_background for place in places._running))
        for call in calls:
            call.end()
        await asyncio.wait([call.task for call in calls]) if calls else None
        assert not places._running
        assert not places._waiting
        assert not places._leaving

    asyncio.run(work())
