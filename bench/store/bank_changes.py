"""Changes of thousands of items of a memory bank at once, undo and redo of them, and the look for duplicates.

    python -m bench.store.bank_changes [--items 5000]

Of each it notes the processor time of the program, the statements, and the longest step of the loop, in which
no key is read. The ratios of undo and redo are against confirming the same items in the same run.
"""

import argparse
import asyncio
import gc
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from psycopg import AsyncCursor

from bench.measure import Figure, print_table
from bench.steps import Steps
from bench.store.recall import ITEMS, Stories, fill
from core.domain.clock import utc_now
from core.engine.services.bank.bank import Bank
from db.embedded.server import EmbeddedServer
from db.store import PostgresStore, open_store

MOST = 1.5
STEP_MS = 30.0


@dataclass
class Taken:
    """Time and statements of one thing."""

    seconds: float = 0.0
    processor: float = 0.0
    statements: list[str] = field(default_factory=list)
    longest: float = 0.0
    """Processor time of the longest step of the loop."""


async def taken_by(work: Callable[[], Awaitable[object]]) -> Taken:
    """Return what `work` took."""
    taken, steps = Taken(), Steps()
    cursor: Any = AsyncCursor
    execute = cursor.execute

    async def counted(self: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        taken.statements.append(str(query))
        return await execute(self, query, *arguments, **named)

    cursor.execute = counted
    began, processor = perf_counter(), process_time()
    try:
        with steps.watched():
            await work()
    finally:
        cursor.execute = execute
    taken.seconds, taken.processor = perf_counter() - began, process_time() - processor
    taken.longest = max((step.processor for step in steps.noted), default=0.0)
    return taken


async def _measured(store: PostgresStore, items: int) -> list[Figure]:
    [session_id] = await fill(store, Stories(7), 1, items)
    bank = Bank(store.bank, session_id, utc_now, nullcontext)
    gc.collect()
    gc.freeze()
    change = await taken_by(lambda: _confirm(bank))
    figures = _figures(f"confirming {items:,} items", change, change)
    works = {
        "marking them as seen, which undo passes over": lambda: _look(bank),
        "undo": bank.undo,
        "redo": bank.redo,
        "undo again": bank.undo,
        "redo again": bank.redo,
    }
    for name, work in works.items():
        figures += _figures(name, await taken_by(work), change)
    for number in range(20):
        item = (await bank.items())[number * items // 20]
        await bank.pin([item])
    for _ in range(20):
        last = await taken_by(bank.undo)
    figures += _figures("undo of one, after twenty of one each", last, change)
    figures += _figures("undo of all behind these", await taken_by(bank.undo), change)
    alike = await taken_by(bank.alike)
    step = alike.longest * 1e3
    return [
        *figures,
        Figure("looking for duplicates", alike.seconds * 1e3, "ms", alike.processor / change.processor),
        Figure("  longest step of the loop", step, "ms", None, f"≤ {STEP_MS:g}", step <= STEP_MS),
    ]


async def _confirm(bank: Bank) -> None:
    await bank.confirm(await bank.items())


async def _look(bank: Bank) -> None:
    await bank.mark_seen(await bank.items())


def _figures(name: str, taken: Taken, change: Taken) -> list[Figure]:
    ratio, step = taken.processor / change.processor, taken.longest * 1e3
    return [
        Figure(f"{name}: until done", taken.seconds * 1e3, "ms", taken.seconds / change.seconds),
        Figure.at_most("  processor time of the program", taken.processor * 1e3, "ms", ratio, MOST, "that"),
        Figure("  statements", len(taken.statements), ""),
        Figure("  longest step of the loop", step, "ms", None, f"≤ {STEP_MS:g}", step <= STEP_MS),
    ]


async def measure(items: int, folder: Path) -> list[Figure]:
    """Store a chapter with so many items, and measure."""
    server = EmbeddedServer(folder, grace=0.0)
    try:
        store = await open_store(await asyncio.to_thread(server.acquire))
        try:
            return await _measured(store, items)
        finally:
            await store.aclose()
    finally:
        await asyncio.to_thread(server.release)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=ITEMS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        figures = asyncio.run(measure(arguments.items, Path(folder) / "postgres"))
    print_table("Changes of many items of a memory bank", figures)


if __name__ == "__main__":
    main()
