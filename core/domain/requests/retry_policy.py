"""Retries: which failures are transient, and how long to wait."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from core.domain.errors import ErrorCode

TRANSIENT: Final = frozenset(
    {
        ErrorCode.LLM_RATE_LIMITED,
        ErrorCode.LLM_TIMEOUT,
        ErrorCode.LLM_SERVER_ERROR,
        ErrorCode.LLM_INVALID_JSON,
        ErrorCode.LLM_TRUNCATED,
        ErrorCode.LLM_ERROR,
    }
)
"""Transient failures: the same call may succeed without any change by the GM."""
MAX_BACKOFF_SECONDS: Final = 300.0
_MAX_DOUBLINGS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The rules for retrying failed requests of one kind."""

    is_automatic: bool = False
    """Whether it is retried automatically; otherwise by the GM only."""
    waits_for_the_gm: frozenset[ErrorCode] = frozenset()
    """Failures that are never retried automatically, because the GM has to act first."""

    def next_try(
        self, code: ErrorCode, attempts: int, now: datetime, *, backoff: float, asked_for: float | None
    ) -> datetime | None:
        """Return when a request that failed now is retried, or can be retried at the earliest.

        `backoff` is the first wait in seconds, `asked_for` the one that the service requested. None means no
        automatic retry, and a manual one at any time.
        """
        if not self.is_automatic:
            return now + timedelta(seconds=asked_for) if asked_for else None
        if code in self.waits_for_the_gm:
            return None
        return now + max(self.own_wait(attempts, backoff), timedelta(seconds=asked_for or 0.0))

    @staticmethod
    def own_wait(attempts: int, backoff: float) -> timedelta:
        """Return our own exponential back-off after that many attempts, bounded."""
        seconds = min(MAX_BACKOFF_SECONDS, backoff * 2.0 ** min(attempts - 1, _MAX_DOUBLINGS))
        return timedelta(seconds=seconds)
