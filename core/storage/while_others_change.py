"""Tries again what another window hinders, which changes the same at the same time."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from core.domain.errors import ChangedElsewhereError

TRIES: Final = 5
"""Maximum attempts at a change, or at reading one state, while other windows change the same."""
_T = TypeVar("_T")


async def while_others_change(
    change: Callable[[], Awaitable[_T]], read_again: Callable[[], Awaitable[object]] | None = None
) -> _T:
    """Return what a change returns, tried again after ChangedElsewhereError, which the last attempt raises.

    `read_again` is called between attempts, for a change that does not read what it changes; it raises
    ChangedElsewhereError where another attempt is not wanted.
    """
    for _ in range(TRIES - 1):
        try:
            return await change()
        except ChangedElsewhereError:
            if read_again is not None:
                await read_again()
    return await change()
