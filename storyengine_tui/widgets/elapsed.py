"""Times and durations as a person reads them: when it was, how long it took, and may take (design 10)."""

from datetime import datetime

LEAST_SECONDS = 5.0
"""Shorter durations are not worth showing."""


def elapsed_text(seconds: float) -> str:
    """Return a duration such as `0:07`, `12:40` or `1:00:00`."""
    whole = max(0, int(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def expected_time(seconds: float | None, *, is_local: bool) -> str:
    """Return the expected time in a few words; `seconds` is the last duration, None where it is unknown."""
    if seconds is None:
        return "can take minutes the first time" if is_local else ""
    return f"{elapsed_text(seconds)} last time" if seconds >= LEAST_SECONDS else ""


def expected_time_sentence(seconds: float | None, *, is_local: bool) -> str:
    """Return the same as a sentence."""
    if seconds is None:
        return "On this machine it can take a few minutes the first time." if is_local else ""
    return f"Last time it took {elapsed_text(seconds)}." if seconds >= LEAST_SECONDS else ""


def shown_time(at: datetime) -> str:
    """Return a time by the clock of this machine, such as `03 May 2026 12:04:05`."""
    return f"{at.astimezone():%d %b %Y %H:%M:%S}"
