"""Delivery of notices: in order, never waiting for a listener, text joined for one that is slow."""

import asyncio

import pytest

from core.domain.ids import RequestId, new_uuid
from core.engine.sync.notifications import Notification, StorageRecovered, StreamRestarted, TextArrived
from core.engine.sync.subscriptions import Listeners

pytestmark = pytest.mark.anyio

ONE, TWO = RequestId(new_uuid()), RequestId(new_uuid())


async def test_text_that_a_slow_listener_has_not_read_is_joined_but_never_across_other_news() -> None:
    listeners = Listeners()
    with listeners.listen() as listener:
        for piece in ("a", "b", "c"):
            listeners.publish(TextArrived(ONE, piece))
        listeners.publish(
            StreamRestarted(ONE), TextArrived(ONE, "d"), TextArrived(TWO, "e"), TextArrived(TWO, "f")
        )
        listeners.close()
        heard = [notification async for notification in listener]
    assert heard == [
        TextArrived(ONE, "abc"),
        StreamRestarted(ONE),
        TextArrived(ONE, "d"),
        TextArrived(TWO, "ef"),
    ]


async def test_ten_thousand_pieces_leave_one_notice_waiting() -> None:
    listeners = Listeners()
    with listeners.listen() as listener:
        for _ in range(10_000):
            listeners.publish(TextArrived(ONE, "x"))
        listeners.close()
        [only] = [notification async for notification in listener]
    assert only == TextArrived(ONE, "x" * 10_000)


async def test_every_listener_hears_everything_from_when_it_began() -> None:
    listeners = Listeners()
    heard: dict[str, list[Notification]] = {"early": [], "late": []}
    with listeners.listen() as early:
        listeners.publish(StreamRestarted(ONE))
        with listeners.listen() as late:
            listeners.publish(StorageRecovered())
            listeners.close()
            heard["late"] = [notification async for notification in late]
        heard["early"] = [notification async for notification in early]
    assert heard == {"early": [StreamRestarted(ONE), StorageRecovered()], "late": [StorageRecovered()]}


async def test_a_listener_that_waits_ends_when_its_block_is_left() -> None:
    listeners = Listeners()

    async def read() -> int:
        return len([notification async for notification in listener])

    with listeners.listen() as listener:
        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        listeners.publish(StorageRecovered())
    assert await asyncio.wait_for(reading, 60) == 1
    listeners.publish(StorageRecovered())
