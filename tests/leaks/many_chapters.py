"""Chapters of random steps, one for each seed, with everything that was found in them together."""

from tests.leaks.canaries import Ledger
from tests.leaks.random_chapter import RandomChapter

STEPS = 16
"""Steps of a chapter."""


async def play_chapters(seeds: range, steps: int = STEPS) -> Ledger:
    """Play a chapter for each seed; return everything that was found together."""
    together = Ledger()
    for seed in seeds:
        found = await RandomChapter(seed).play(steps)
        together.leaks += [f"seed {seed}: {leak}" for leak in found.leaks]
        together.forgotten += [f"seed {seed}: {one}" for one in found.forgotten]
        together.inputs += found.inputs
        together.checked += found.checked
        together.set_off_count += found.set_off_count
        together.bank_count += found.bank_count
        together.kept_count += found.kept_count
    return together
