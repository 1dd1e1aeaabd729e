"""The time, passed in so that tests and replays can set it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time now, in UTC with time zone."""
    return datetime.now(UTC)
