"""Retries: which failures are transient, how long to wait, and after how many tries to give up."""

from dataclasses import dataclass, replace
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
NEEDS_THE_GM: Final = frozenset(
    {ErrorCode.LLM_CANCELLED, ErrorCode.CONSENT_REQUIRED, ErrorCode.CEILING_REACHED}
)
"""Failures that no automatic retry follows: the GM stopped the call, or has to agree to it first."""
REFUSALS: Final = frozenset(
    {
        ErrorCode.CONSENT_REQUIRED,
        ErrorCode.CEILING_REACHED,
        ErrorCode.LLM_AUTH_ERROR,
        ErrorCode.LLM_CREDIT_EXHAUSTED,
    }
)
"""Failures that the next call would have too, whatever it asks: the GM has to act first."""
PASSING: Final = frozenset({ErrorCode.LLM_RATE_LIMITED, ErrorCode.LLM_TIMEOUT, ErrorCode.LLM_SERVER_ERROR})
"""Failures of a service that a wait may end."""
LONGEST_ASKED_FOR: Final = 86_400.0
"""Seconds that a service may ask for at most; one that asks for more is taken at this."""
_MAX_DOUBLINGS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential back-off of automatic retries, in seconds, and their maximum number."""

    first: float
    """The wait after the first failure; it doubles with each further one."""
    longest: float
    tries: int
    """After so many failed attempts a request is a dead letter."""

    def wait(self, attempts: int) -> timedelta:
        """Return our own wait after that many attempts."""
        return timedelta(seconds=min(self.longest, self.first * 2.0 ** min(attempts - 1, _MAX_DOUBLINGS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoffs:
    """The waits of summaries, and of background work; settings."""

    summary: Backoff = Backoff(first=5.0, longest=300.0, tries=20)
    background: Backoff = Backoff(first=2.0, longest=30.0, tries=5)

    @classmethod
    def of(
        cls, *, summary_first: float, summary_tries: int, background_first: float, background_tries: int
    ) -> "Backoffs":
        """Return the back-offs with the GM's settings."""
        usual = cls()
        return cls(
            summary=replace(usual.summary, first=summary_first, tries=summary_tries),
            background=replace(usual.background, first=background_first, tries=background_tries),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The rules for retrying failed requests of one kind."""

    is_automatic: bool = False
    """Whether it is retried automatically; otherwise by the GM only."""
    waits_for_the_gm: frozenset[ErrorCode] = frozenset()
    """Failures that are never retried automatically, because the GM has to act first."""

    def next_try(
        self, code: ErrorCode, attempts: int, now: datetime, *, backoff: Backoff, asked_for: float | None
    ) -> datetime | None:
        """Return when a request that failed now is retried, or can be retried at the earliest.

        `asked_for` is the wait in seconds that the service requested. None means no automatic retry, and a
        manual one at any time.
        """
        if not self.is_automatic:
            return now + timedelta(seconds=asked_for) if asked_for else None
        if code in self.waits_for_the_gm or attempts >= backoff.tries:
            return None
        asked = timedelta(seconds=min(LONGEST_ASKED_FOR, asked_for or 0.0))
        return now + max(backoff.wait(attempts), asked)
