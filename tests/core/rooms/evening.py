"""An evening on which the GM is idle and characters may add to their replies, under a clock of the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from core.domain.requests.request import BackgroundRequest
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.engine.kinds.speaking.afterthought import Pause
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, ScriptMatch
from tests.core.rooms.idle_hours import IdleHours
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import room

ADDS = "adds something of its own accord"
REASON = "CANARY-7731"


def decides(speaks: bool, *, times: int | None = None) -> Entry:
    payload: dict[str, object] = {"reason": REASON, "speaks": speaks}
    return Entry(match=ScriptMatch(schema="afterthought"), payload=payload, times=times)


def adds(text: str = "And one thing more.") -> Entry:
    return Entry(match=ScriptMatch(schema="text", last=ADDS), text=text)


class Evening:
    """An open session, its room and its clock."""

    def __init__(self, scene: Room, session: SessionHandle, hours: IdleHours) -> None:
        self.scene, self.session, self.hours = scene, session, hours

    async def idle(self, seconds: float) -> None:
        await self.hours.begun()
        await self.hours.pass_by(seconds, lambda: self.session.afterthoughts._task)

    async def asked(self) -> list[int]:
        """After how many seconds of idleness a character was asked, each time."""
        requests = await self.session.reads.requests()
        return [Pause.of(one).seconds for one in requests if isinstance(one, BackgroundRequest)]

    async def added(self) -> list[Event]:
        return [event for event in await self.session.reads.canon() if event.is_afterthought]


@asynccontextmanager
async def evening(
    *entries: Entry, slots: tuple[Slot, ...] = (Slot.RED,), most: int = 2
) -> AsyncIterator[Evening]:
    scene, hours = room(*entries), IdleHours()
    scene.play = replace(scene.play, idle_clock=hours.clock, afterthoughts=most)
    async with scene.opened() as session:
        if slots:
            await session.afterthoughts.choose_speakers(slots)
        yield Evening(scene, session, hours)
