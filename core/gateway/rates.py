"""Limits of the calls that begin in a minute, of this window and of all of a database (design 8 and 18)."""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final

from core.config.models.accounts import OWN
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.config.models.model_defaults import DEFAULT_LIMITS
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.storage.queue_store import SharedRates

log = logging.getLogger(__name__)

_MINUTE: Final = 60.0
ASK_SECONDS: Final = 2.0
"""Seconds that a call waits for the database to say whether it may begin."""
REST_SECONDS: Final = 30.0
"""Seconds for which a database is not asked that did not say so."""

AskAll = Callable[[int], Awaitable[float]]
"""Counts a call in all windows, of at most so many in a minute; see `SharedRates.begin_call`."""


@dataclass(slots=True)
class _Waiting:
    limit: int
    until: float = 0.0
    """When the calls of all windows may leave room."""


class MinuteLimit:
    """Lets at most so many calls begin in any minute; the others wait, those of the play in front.

    Work beside the play leaves a quarter of them to it: a prompt does not wait for it.
    """

    def __init__(self) -> None:
        self._begun: deque[float] = deque()
        self._numbers = count()
        self._waiting: dict[tuple[bool, int], _Waiting] = {}
        """The calls that wait. Their order: those of the play first, then as they came."""
        self._moved = asyncio.Event()
        """Set, and replaced, when another call may begin."""
        self._rests_until = 0.0
        self._asking: set[asyncio.Future[float]] = set()

    async def wait(self, limit: int, *, is_background: bool = False, ask_all: AskAll | None = None) -> None:
        """Return when a call may begin; at most a minute from now per call ahead of it.

        With `ask_all` the calls of all windows count, for as long as the database answers.
        """
        loop = asyncio.get_running_loop()
        own = is_background, next(self._numbers)
        me = _Waiting(max(1, limit * 3 // 4) if is_background else limit)
        self._waiting[own] = me
        try:
            while True:
                now = loop.time()
                while self._begun and self._begun[0] <= now - _MINUTE:
                    self._begun.popleft()
                if (free_at := self._free_at(me)) > now:
                    await self._next_move(free_at - now)
                elif any(one < own and self._free_at(other) <= now for one, other in self._waiting.items()):
                    await self._next_move()
                elif seconds := await self._seconds_to_wait(now, me.limit, ask_all):
                    me.until = loop.time() + seconds
                else:
                    return
        finally:
            del self._waiting[own]
            self._move()

    def _free_at(self, one: _Waiting) -> float:
        return max(one.until, self._begun[0] + _MINUTE if len(self._begun) >= one.limit else 0.0)

    async def _next_move(self, seconds: float | None = None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._moved.wait()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def _seconds_to_wait(self, now: float, limit: int, ask_all: AskAll | None) -> float:
        """Count a call, and return 0; where other windows leave no room, return for how long it waits."""
        self._begun.append(now)  # before it asks: what comes meanwhile counts it
        if ask_all is None or now < self._rests_until:
            return 0.0
        seconds = _MINUTE
        # In a task of its own: a connection that hangs takes seconds to stop.
        self._asking.add(asking := asyncio.ensure_future(ask_all(limit)))
        asking.add_done_callback(self._asking.discard)
        try:
            async with asyncio.timeout(ASK_SECONDS):
                seconds = await asyncio.shield(asking)
        except (StoryEngineError, TimeoutError) as error:
            # Without the database the limit of this window holds alone; that is better than no play.
            seconds = 0.0
            self._rests_until = asyncio.get_running_loop().time() + REST_SECONDS
            log.warning("calls of other windows cannot be counted", exc_info=error)
        finally:
            asking.cancel()
            if seconds:
                self._begun.remove(now)
        return seconds


class RateLimiter:
    """Lets at most `requests_per_minute` calls of a choice begin in any minute; the others wait.

    The characters share the limit of their role, but for one that has a limit, or an account, of its own. All
    windows that have `shared` rates share the limits that the GM has set; the default is one that no play
    reaches.
    """

    def __init__(self, choices: ModelAssignments, shared: SharedRates | None = None) -> None:
        self._choices = choices
        self._shared = shared
        self._limits: defaultdict[tuple[str, AgentRole | int], MinuteLimit] = defaultdict(MinuteLimit)

    async def wait(
        self,
        role: AgentRole,
        agent_id: int,
        choice: ModelConfig | None = None,
        *,
        is_background: bool = False,
    ) -> None:
        """Return when a call of the agent, by `choice` or as usual, may begin; as `MinuteLimit.wait`."""
        choice = choice or self._choices.of(role, agent_id)
        limit = choice.requests_per_minute
        if limit is None:
            return
        whose = role if limit == self._choices[role].requests_per_minute else agent_id
        ask_all = None
        if self._shared is not None and limit != DEFAULT_LIMITS[role]:
            account = f"profile {choice.profile}" if choice.account == OWN else choice.account
            ask_all = partial(self._shared.begin_call, f"{account} {whose}")
        await self._limits[choice.account, whose].wait(limit, is_background=is_background, ask_all=ask_all)
