"""The weights of the local model, as screen and command line look for them and fetch them (design 8)."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from core.config.paths import Paths
from core.config.settings import ProfileSettings
from core.providers.base import ProviderError

Tell = Callable[[str], None]
"""Hears how far it is, in words; the same words are not said twice."""


class StoppedError(Exception):
    """Nobody wants the weights any more."""


async def found_weights(paths: Paths) -> Path | None:
    """Return the weights that come with the program, installed or fetched before."""
    from core.providers.local.weights import SMOLLM2, find_weights

    try:
        return await asyncio.to_thread(find_weights, paths, None, SMOLLM2)
    except ProviderError:
        return None


async def are_missing(profile: ProfileSettings, paths: Paths) -> bool:
    """Return whether the local model is to answer, and its weights are not on this machine."""
    if profile.provider != "local" or profile.model_path is not None:
        return False
    return await found_weights(paths) is None


def megabytes() -> int:
    """Return how much is to be fetched."""
    from core.providers.local.weights import SMOLLM2

    return SMOLLM2.megabytes


async def fetch(paths: Paths, tell: Tell, *, steps: int = 100) -> Path:
    """Fetch the weights, saying how far it is in so many steps; raises ProviderError.

    Cancelled, it stops and leaves nothing behind.
    """
    from core.providers.local.weights import SMOLLM2, fetch_weights

    loop = asyncio.get_running_loop()
    stop = threading.Event()
    said = ""

    def progress(stage: str, share: float) -> None:
        nonlocal said
        if stop.is_set():
            raise StoppedError
        words = f"{stage}, {int(share * steps) / steps:.0%} of {SMOLLM2.megabytes} MB"
        if words != said:
            said = words
            loop.call_soon_threadsafe(tell, words)

    try:
        return await asyncio.to_thread(fetch_weights, paths, progress, SMOLLM2)
    finally:
        # The thread goes on when this is cancelled; it looks here at its next word.
        stop.set()
