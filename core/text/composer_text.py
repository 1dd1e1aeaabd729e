"""Merges a returning text with the newer text of its composer, so that neither is lost (design 6).

The engine and the screen use the same rules.
"""

from typing import Final

BETWEEN: Final = "\n\n"
"""The separator between a returned text and what was typed since."""


def joined(front: str, behind: str) -> str:
    """Return both texts, the returned one in front; one alone if the other is blank or the same."""
    if not front.strip():
        return behind
    if not behind.strip() or behind.strip() == front.strip():
        return front
    return f"{front}{BETWEEN}{behind}"


def without(text: str, part: str) -> str | None:
    """Return `text` without `part`, which was joined to it; None when it is not there."""
    if text.strip() == part.strip():
        return ""
    if text.startswith(part + BETWEEN):
        return text.removeprefix(part + BETWEEN)
    if text.endswith(BETWEEN + part):
        return text.removesuffix(BETWEEN + part)
    return None


def merged(stored: str, typed: str) -> str:
    """Return the text of a panel that was edited while its stored text changed elsewhere."""
    if without(typed, stored) is not None or not stored:
        return typed
    return stored if without(stored, typed) is not None else joined(stored, typed)


def resumed(base: str, stored: str, typed: str) -> str:
    """Return the text of a field in which `base` was edited to `typed` while `stored` took its place."""
    if typed == base:
        return stored
    return typed if stored == base else merged(stored, typed)
