"""Opening a session and rendering its window: at 100 events, at 100,000, with three takes, with audiences.

    python -m bench.store.opening [--events 100000] [--runs 15]

Opened as the screen does it: by the engine, with the writer's lock and all that is settled on the way. All
have events of the same length, so that the window is as long; the long ones must open within 1.5 times of
the short one. Runs alternate, so that what else the machine does falls on all of them.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from bench.measure import Figure, print_table
from bench.synthetic_sessions import told, whole
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings
from core.domain.ids import SessionId
from core.domain.story.transcript import render_window
from core.engine.engine import Engine
from core.providers.scripted.provider import ScriptedProvider
from core.storage.session_store import SessionStore
from db.embedded.server import EmbeddedServer
from db.store import open_store

WINDOW = 9_000
"""Characters: what fits into the window of the short session as well."""


MOST = 1.5
TAKES = 3


async def open_once(engine: Engine, store: SessionStore, session_id: SessionId) -> float:
    """Open a session, read its newest events, render the window; return the seconds."""
    began = time.perf_counter()
    session = await engine.open(session_id)
    try:
        newest = await store.newest_canon(session_id, WINDOW)
        render_window(newest, session.snapshot.session, WINDOW, is_complete=False)
        return time.perf_counter() - began
    finally:
        await session.aclose()


async def measure(long_events: int, runs: int, home: Path) -> list[Figure]:
    """Make the sessions and open them in turn."""
    server = EmbeddedServer(home)
    store = await open_store(await asyncio.to_thread(server.acquire))
    profile = ProfileSettings(provider="scripted")
    engine = Engine(store, ScriptedProvider(), choose_models(profile), label="bench")
    try:
        times: dict[SessionId, list[float]] = {}
        long = long_events // 2
        for made in (whole(50), whole(long), whole(long, TAKES), told(long)):
            await store.chapters.create(made)
            times[made.session_id] = []
        for _ in range(runs):
            for session_id, taken in times.items():
                taken.append(await open_once(engine, store, session_id))
        first, *others = (statistics.median(taken) for taken in times.values())
        names = (
            f"  at {long_events:,} events",
            f"  … {TAKES} takes each",
            "  … lines, whispers, private memory",
        )
        return [
            Figure("opening at 100 events, engine and window", first * 1000, "ms"),
            *(
                Figure.at_most(name, median * 1000, "ms", median / first, MOST, "at 100")
                for name, median in zip(names, others, strict=True)
            ),
        ]
    finally:
        await engine.aclose()
        await asyncio.to_thread(server.release)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        figures = asyncio.run(measure(arguments.events, arguments.runs, Path(folder) / "postgres"))
    print_table("Opening a session", figures)


if __name__ == "__main__":
    main()
