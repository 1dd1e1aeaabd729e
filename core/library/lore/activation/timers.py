"""Sticky, cooldown and delay, derived from a log of activations: nothing is counted down and nothing stored.

An entry is sticky for so many messages from the one at which it was activated; an activation in that time
does not begin it again. Its cooldown begins where it stops being sticky, else where it was activated. An
activation at the same number of messages does not count: that is the same input made again. An edit of an
entry resets it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from core.library.lore.activation.scene import Logged
from core.library.lore.book import LoreEntry


@dataclass(frozen=True, slots=True)
class Timer:
    """State of an entry by the log."""

    is_sticky: bool = False
    is_cooling: bool = False
    was_active: bool = False
    """Whether it ever was active."""
    until: int = 0
    """The number of messages at which that ends."""


NO_TIMER: Final = Timer()


def activations(log: Iterable[Logged], length: int) -> dict[tuple[str, str], list[Logged]]:
    """Return what the log has before `length` messages, by book and entry, oldest first."""
    found: dict[tuple[str, str], list[Logged]] = {}
    for one in sorted((one for one in log if one.at < length), key=lambda one: one.at):
        found.setdefault((one.book, one.uid), []).append(one)
    return found


def timer_of(entry: LoreEntry, digest: str, history: Iterable[Logged], length: int) -> Timer:
    """Return the timer of an entry at `length` messages, from its activations, oldest first.

    Those with another digest were of the entry before an edit.
    """
    sticky_until = cooling_until = 0
    was_active = False
    for one in history:
        if one.digest != digest:
            continue
        was_active = True
        if one.at < sticky_until:
            continue
        if entry.sticky:
            sticky_until = one.at + entry.sticky
            cooling_until = sticky_until + entry.cooldown
        elif one.at >= cooling_until:
            cooling_until = one.at + entry.cooldown
    if length < sticky_until:
        return Timer(is_sticky=True, was_active=True, until=sticky_until)
    is_cooling = length < cooling_until
    return Timer(is_cooling=is_cooling, was_active=was_active, until=cooling_until if is_cooling else 0)
