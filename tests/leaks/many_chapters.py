"""Chapters of random steps, one for each seed, with everything that was found in them together."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from db.store import open_store
from tests.leaks.canaries import Ledger
from tests.leaks.random_chapter import RandomChapter
from tests.store.servers import cloned, database_of

STEPS = 16
"""Steps of a chapter."""


async def play_chapters(
    seeds: range,
    steps: int = STEPS,
    *,
    has_two_windows: bool = False,
    of: type[RandomChapter] = RandomChapter,
) -> Ledger:
    """Play a chapter for each seed in memory; return everything that was found together."""
    together = Ledger()
    for seed in seeds:
        _add(together, seed, await of(seed, has_two_windows=has_two_windows).play(steps))
    return together


async def play_on_server(url: str, seeds: range, steps: int = STEPS) -> Ledger:
    """Play each chapter in a copy of this database, in two windows."""
    together = Ledger()
    for seed in seeds:
        with _database(url) as own:
            chapter = RandomChapter(seed, partial(open_store, own), has_two_windows=True)
            _add(together, seed, await chapter.play(steps))
    return together


@contextmanager
def _database(url: str) -> Iterator[str]:
    yield from cloned(url, database_of(url))


def _add(together: Ledger, seed: int, found: Ledger) -> None:
    together.leaks += [f"seed {seed}: {leak}" for leak in found.leaks]
    together.forgotten += [f"seed {seed}: {one}" for one in found.forgotten]
    together.inputs += found.inputs
    together.checked += found.checked
    together.set_off_count += found.set_off_count
    together.bank_count += found.bank_count
    together.kept_count += found.kept_count
