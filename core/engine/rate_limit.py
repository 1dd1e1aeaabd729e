"""Our own limit of calls per minute, by role (design 8; seed 002, 4.4)."""

import asyncio
from collections import deque
from collections.abc import Mapping

from core.model_choice import AgentRole, ModelChoice

_MINUTE = 60.0


class RateLimiter:
    """Lets at most `requests_per_minute` calls of a role begin in any minute; the others wait."""

    def __init__(self, choices: Mapping[AgentRole, ModelChoice]) -> None:
        self._limits = {role: choice.requests_per_minute for role, choice in choices.items()}
        self._begun: dict[AgentRole, deque[float]] = {role: deque() for role in choices}

    async def wait(self, role: AgentRole) -> None:
        """Return when a call of `role` may begin; at most a minute from now per call ahead of it."""
        limit = self._limits[role]
        if limit is None:
            return
        begun = self._begun[role]
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            while begun and begun[0] <= now - _MINUTE:
                begun.popleft()
            if len(begun) < limit:
                begun.append(now)
                return
            await asyncio.sleep(begun[0] + _MINUTE - now)
