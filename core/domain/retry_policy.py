"""When something that failed is tried again: which failures pass by themselves, and how long to wait."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from core.domain.errors import ErrorCode

PASSING: Final = frozenset(
    {
        ErrorCode.LLM_RATE_LIMITED,
        ErrorCode.LLM_TIMEOUT,
        ErrorCode.LLM_SERVER_ERROR,
        ErrorCode.LLM_INVALID_JSON,
        ErrorCode.LLM_TRUNCATED,
        ErrorCode.LLM_ERROR,
    }
)
"""Failures after which the same call may succeed, with nothing changed by the GM."""
MAX_BACKOFF_SECONDS: Final = 300.0
_MAX_DOUBLINGS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a failed request of one kind is tried again."""

    is_automatic: bool = False
    """Whether it is tried again by itself; otherwise the GM asks for it."""
    waits_for_the_gm: frozenset[ErrorCode] = frozenset()
    """Failures after which even an automatic retry waits until the GM has done something."""

    def next_try(
        self, code: ErrorCode, attempts: int, now: datetime, *, backoff: float, asked_for: float | None
    ) -> datetime | None:
        """Return when a request that failed now is tried again, or may be tried again at the earliest.

        `backoff` is the first wait in seconds, `asked_for` the one that the service named. None means: not
        by itself, and at any time by hand.
        """
        if not self.is_automatic:
            return now + timedelta(seconds=asked_for) if asked_for else None
        if code in self.waits_for_the_gm:
            return None
        return now + max(self.own_wait(attempts, backoff), timedelta(seconds=asked_for or 0.0))

    @staticmethod
    def own_wait(attempts: int, backoff: float) -> timedelta:
        """Return our own wait after that many attempts: exponential, with an upper bound."""
        seconds = min(MAX_BACKOFF_SECONDS, backoff * 2.0 ** min(attempts - 1, _MAX_DOUBLINGS))
        return timedelta(seconds=seconds)
