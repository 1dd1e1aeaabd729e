"""Our own limit of calls per minute, by agent (design 8; seed 002, 4.4)."""

import asyncio
from collections import defaultdict, deque

from core.config.models import AgentRole, ModelAssignments

_MINUTE = 60.0


class RateLimiter:
    """Lets at most `requests_per_minute` calls of a choice begin in any minute; the others wait.

    The characters share the limit of their role, but for one that has a limit of its own.
    """

    def __init__(self, choices: ModelAssignments) -> None:
        self._choices = choices
        self._begun: defaultdict[AgentRole | int, deque[float]] = defaultdict(deque)

    async def wait(self, role: AgentRole, agent_id: int) -> None:
        """Return when a call of the agent may begin; at most a minute from now per call ahead of it."""
        choice = self._choices.of(role, agent_id)
        limit = choice.requests_per_minute
        if limit is None:
            return
        begun = self._begun[role if limit == self._choices[role].requests_per_minute else agent_id]
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            while begun and begun[0] <= now - _MINUTE:
                begun.popleft()
            if len(begun) < limit:
                begun.append(now)
                return
            await asyncio.sleep(begun[0] + _MINUTE - now)
