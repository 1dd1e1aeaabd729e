"""Our own limits of calls per minute, by agent and by account (design 8; seed 002, 4.4)."""

import asyncio
from collections import defaultdict, deque

from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.domain.agent_role import AgentRole

_MINUTE = 60.0


class MinuteLimit:
    """Lets at most so many calls begin in any minute; the others wait."""

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
