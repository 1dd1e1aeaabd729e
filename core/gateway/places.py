"""Places for calls to one account, the most urgent first, and our own limits of calls per minute."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.domain.agent_role import AgentRole


@dataclass(frozen=True, slots=True, eq=False)
class LanePlace:
    """Place of one call in the queue of a lane."""

    priority: int
    """Lower goes first; among equals the call that has waited longest."""
    yield_place: Callable[[], None] | None = None
    """Stops the call, so that a more urgent one can have its place; None for calls of the play."""

    @property
    def is_background(self) -> bool:
        """Whether it makes room for calls of the play."""
        return self.yield_place is not None


class Places:
    """Lets at most `limit` calls run at a time; any number where that is None.

    With `one_for_background`, work beside the play runs only while nothing else does: a model on this machine
    serves two calls at half the speed each.
    """

    def __init__(self, limit: int | None, *, one_for_background: bool = False) -> None:
        self._limit = limit
        self._background_limit = 1 if one_for_background else limit
        self._running: list[LanePlace] = []
        self._waiting: list[tuple[LanePlace, asyncio.Event]] = []
        """In the order in which they came."""
        self._leaving: set[LanePlace] = set()
        """Those that were asked to make room, and still run."""

    @asynccontextmanager
    async def held(self, place: LanePlace) -> AsyncIterator[None]:
        """Wait for a place, and hold it until the block ends."""
        if not self._begins_at_once(place):
            await self._until_free(place)
        self.make_room_for(place)
        self._running.append(place)
        try:
            yield
        finally:
            self._running.remove(place)
            self._leaving.discard(place)
            self._admit()

    def _begins_at_once(self, place: LanePlace) -> bool:
        goes_before = any(other.priority <= place.priority for other, _ in self._waiting)
        return not goes_before and self._has_room(place)

    def _has_room(self, place: LanePlace) -> bool:
        limit = self._background_limit if place.is_background else self._limit
        return limit is None or len(self._running) < limit

    async def _until_free(self, place: LanePlace) -> None:
        """Wait until `_admit` gives a place, which counts as held from then on."""
        admitted = asyncio.Event()
        entry = (place, admitted)
        self._waiting.append(entry)
        self.make_room_for(place)
        try:
            await admitted.wait()
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
            else:
                self._running.remove(place)
            self._admit()
            raise
        self._running.remove(place)  # `held` counts it again, without waiting in between

    def make_room_for(self, place: LanePlace) -> None:
        """Ask the work beside the play that began last to stop, where a call of the play needs its place."""
        limit = self._background_limit
        if place.is_background or limit is None or len(self._running) < limit:
            return
        for other in reversed(self._running):
            if other.yield_place is not None and other not in self._leaving:
                self._leaving.add(other)
                other.yield_place()
                return

    def _admit(self) -> None:
        """Give free places to the calls that wait, the most urgent first."""
        while self._waiting:
            entry = min(self._waiting, key=lambda waiting: waiting[0].priority)
            place, admitted = entry
            if not self._has_room(place):
                return
            self._waiting.remove(entry)
            self._running.append(place)
            admitted.set()


_MINUTE = 60.0


class MinuteLimit:
    """Lets at most so many calls begin in any minute; the others wait (design 8; seed 002, 4.4)."""

    def __init__(self) -> None:
        self._begun: deque[float] = deque()

    async def wait(self, limit: int) -> None:
        """Return when a call may begin; at most a minute from now per call ahead of it."""
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            while self._begun and self._begun[0] <= now - _MINUTE:
                self._begun.popleft()
            if len(self._begun) < limit:
                self._begun.append(now)
                return
            await asyncio.sleep(self._begun[0] + _MINUTE - now)


class RateLimiter:
    """Lets at most `requests_per_minute` calls of a choice begin in any minute; the others wait.

    The characters share the limit of their role, but for one that has a limit, or an account, of its own.
    """

    def __init__(self, choices: ModelAssignments) -> None:
        self._choices = choices
        self._limits: defaultdict[tuple[str, AgentRole | int], MinuteLimit] = defaultdict(MinuteLimit)

    async def wait(self, role: AgentRole, agent_id: int, choice: ModelConfig | None = None) -> None:
        """Return when a call of the agent, by `choice` or as usual, may begin; as `MinuteLimit.wait`."""
        choice = choice or self._choices.of(role, agent_id)
        limit = choice.requests_per_minute
        if limit is None:
            return
        is_shared = limit == self._choices[role].requests_per_minute
        await self._limits[choice.account, role if is_shared else agent_id].wait(limit)
