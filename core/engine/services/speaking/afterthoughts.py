"""Waits while the GM is idle, and asks the character that spoke last whether it adds anything (design 17)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from core.domain.audience import Audience
from core.domain.errors import StoryEngineError
from core.domain.ids import EventId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import BackgroundRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.changes.moves import given_up, move, new_work
from core.engine.decisions.commands import require_cast
from core.engine.kinds.speaking.afterthought import Opening, Pause, opening_of
from core.engine.queue.background import BackgroundWorker
from core.engine.sync.session_writer import SessionWriter
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

TIMERS: Final = (10, 60, 300, 900, 3_600)
"""Seconds of idleness after which a character is asked: 10 seconds, 1, 5 and 15 minutes, 1 hour."""


@dataclass(frozen=True, slots=True)
class IdleClock:
    """The time that passes while the GM is idle; tests have a clock of their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(eq=False)
class Afterthoughts:
    """The afterthoughts of an open session; without a character that may add something it does nothing.

    At most `most` are added to a reply. The timers start over with every event of the story and with every
    key that the GM types.
    """

    _writer: SessionWriter
    _background: BackgroundWorker
    most: int
    """Maximum number of additions of a character to one reply."""
    _idle_clock: IdleClock
    _after: EventId | None = field(default=None, init=False)
    """The event after which it waits, or has waited."""
    _where: Opening | None = field(default=None, init=False)
    """The last place where a character might add something, also where there is enough."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _stopping: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _is_closed = False

    async def choose_speakers(self, slots: Iterable[Slot], *, is_on: bool = True) -> None:
        """Store the characters that may have afterthoughts, and whether any has them in this chapter."""
        chosen = tuple(slots)
        await self._writer.apply(
            lambda snapshot: speakers_changed(snapshot, chosen, self._writer.clock(), is_on=is_on)
        )

    async def begin(self) -> None:
        """Give up what an earlier run of the program left, and wait for the next event or the next key."""
        if _open(self._writer.snapshot):
            await self._writer.apply(self._without_open)
        opening = self._opening()
        self._after = None if opening is None else opening.after.id

    def look(self) -> None:
        """Start, go on or stop waiting, as the session is now; after a strike wait for the next key."""
        before, opening = self._where, self._opening()
        after = None if opening is None else opening.after.id
        if after == self._after or self._is_closed:
            return
        self._after = after
        self._stop()
        if opening is not None and not (before and _has_fewer(opening, before)):
            self._start(opening)

    def touch(self) -> None:
        """Stop what is being said, and start over: the GM types."""
        if self._after is None or self._is_closed:
            return
        self._stop()
        opening = self._opening()
        if opening is not None:
            self._start(opening)

    async def aclose(self) -> None:
        """Stop waiting; what is being said is stopped with the work beside the play."""
        self._is_closed = True
        self._stop()
        for task in tuple(self._stopping):
            await asyncio.wait({task})

    def _opening(self) -> Opening | None:
        if self._writer.lease is None:
            return None
        opening = self._where = opening_of(self._writer.snapshot)
        return None if opening is None or opening.added >= self.most else opening

    def _start(self, opening: Opening) -> None:
        self._task = asyncio.create_task(self._wait(opening), name="afterthoughts")

    def _stop(self) -> None:
        """Stop waiting, and the request that is open."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        for request in _open(self._writer.snapshot):
            self._take_back(request)

    def _take_back(self, request: BackgroundRequest) -> None:
        task = asyncio.create_task(self._stop_request(request))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def _stop_request(self, request: BackgroundRequest) -> None:
        with suppress(StoryEngineError):
            await self._background.stop(request.id)

    async def _wait(self, opening: Opening) -> None:
        since = self._idle_clock.now()
        for seconds in TIMERS:
            await self._idle_clock.sleep(max(0.0, since + seconds - self._idle_clock.now()))
            with suppress(StoryEngineError):
                await self._ask(opening, seconds)

    async def _ask(self, opening: Opening, seconds: int) -> None:
        """Ask the character, and return when that is settled."""
        index = opening.after.prompt_index
        request = BackgroundRequest(
            slot=opening.slot,
            text=Pause(seconds, str(opening.after.id)).text,
            prompts=PromptRange(index, index),
            audience=opening.reply.audience,
            **new_work(RequestKind.AFTERTHOUGHT, self._writer.snapshot.session.id, self._writer.clock()),
        )
        try:
            await self._background.add(request)
        except asyncio.CancelledError:  # it is stored all the same, and begins unless it is taken back
            self._take_back(request)
            raise
        await self._writer.waiters.wait(request.id)

    def _without_open(self, snapshot: Snapshot) -> Changes:
        requests = tuple(given_up(one, self._writer.clock()) for one in _open(snapshot))
        return Changes(session_id=snapshot.session.id, requests=requests)


def _has_fewer(opening: Opening, before: Opening) -> bool:
    """Whether additions to the same prompt were taken out, and nothing was asked or undone in between."""
    return opening.after.prompt_index == before.after.prompt_index and opening.added < before.added


def _open(snapshot: Snapshot) -> tuple[BackgroundRequest, ...]:
    return tuple(one for one in snapshot.background if one.kind is RequestKind.AFTERTHOUGHT)


def speakers_changed(snapshot: Snapshot, slots: Iterable[Slot], now: datetime, *, is_on: bool) -> Changes:
    """Return the changes that let these characters have afterthoughts, if any has them in this chapter."""
    session = move(snapshot, snapshot.session, Command.LET_ADD, now)
    may_add = Audience.of(slots)
    for slot in may_add:
        require_cast(session, slot)
    return Changes(session_id=session.id, session=replace(session, may_add=may_add, adds_unasked=is_on))
