"""Durations as a person reads them."""


def elapsed_text(seconds: float) -> str:
    """Return a duration such as `0:07`, `12:40` or `1:00:00`."""
    whole = max(0, int(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
