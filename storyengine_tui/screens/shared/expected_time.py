"""How long something may take, as far as earlier calls tell (design 10)."""

from storyengine_tui.widgets.elapsed import elapsed_text

WORTH_SAYING = 5.0
"""Seconds from which on somebody who waits wants to know."""


def expected_time(seconds: float | None, *, is_local: bool) -> str:
    """Return what is known in a few words; `seconds` are those of last time, None where there was none."""
    if seconds is None:
        return "can take minutes the first time" if is_local else ""
    return f"{elapsed_text(seconds)} last time" if seconds >= WORTH_SAYING else ""


def expected_time_sentence(seconds: float | None, *, is_local: bool) -> str:
    """Return the same as a sentence."""
    if seconds is None:
        return "On this machine it can take a few minutes the first time." if is_local else ""
    return f"Last time it took {elapsed_text(seconds)}." if seconds >= WORTH_SAYING else ""
