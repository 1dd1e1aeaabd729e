"""What a composer holds: a text that comes back is joined with what was typed there, never lost (design 6).

The engine stores it, and a screen shows it, by these rules.
"""

from typing import Final

BETWEEN: Final = "\n\n"
"""What stands between a text that came back and what was typed since."""


def joined(front: str, behind: str) -> str:
    """Return both texts, the one that came back in front; one alone where the other is blank or the same."""
    if not front.strip():
        return behind
    if not behind.strip() or behind.strip() == front.strip():
        return front
    return f"{front}{BETWEEN}{behind}"


def without(text: str, part: str) -> str | None:
    """Return what is left of `text` once `part` is taken out as it was joined; None when it is not there."""
    if text.strip() == part.strip():
        return ""
    if text.startswith(part + BETWEEN):
        return text.removeprefix(part + BETWEEN)
    if text.endswith(BETWEEN + part):
        return text.removesuffix(BETWEEN + part)
    return None


def merged(stored: str, typed: str) -> str:
    """Return what a panel holds that was typed in while the stored text of it changed elsewhere."""
    if without(typed, stored) is not None or not stored:
        return typed
    return stored if without(stored, typed) is not None else joined(stored, typed)
