"""Every benchmark, one table: `python -m bench [--quick] [--runs N] [--only PART …]`.

The table is printed at the end; every figure and every sample is written as JSON beside it, into
`bench/results/bench.json`. A full run takes an hour and a half on two quiet cores, and fetches
from the registry what it compares with. What cannot be measured is said below the table.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import installation
from bench.input import book, context, lore
from bench.measure import Figure, print_table, write_json
from bench.models import embedding
from bench.play import playing, queue
from bench.screen import long_story, peers
from bench.screen.figures import screen_figures
from bench.screen.peer_programs import PEERS
from bench.screen.run import FULL, QUICK, measure_screen
from bench.screen.visits import Samples
from bench.store import opening, recall, start

RESULTS = Path("bench/results/bench.json")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs, short stories, nothing fetched")
    parser.add_argument("--runs", type=int, help="runs of every row of the screen")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="some parts alone")
    arguments = parser.parse_args()
    sections: dict[str, list[Figure]] = {}
    samples = Samples()
    loads = [os.getloadavg()[0]]
    try:
        for name in arguments.only or [name for name in PARTS if not (arguments.quick and name in FETCHING)]:
            print(f"{name} …", file=sys.stderr)
            samples.attempt(name, partial(_measure, sections, name, samples, arguments))
            loads.append(os.getloadavg()[0])
    finally:
        # Results of an hour are not lost for a failure at the end.
        sections["machine"] = [Figure("load while measuring, at most", max(loads), "", None)]
        print_table("Story Engine", [figure for figures in sections.values() for figure in figures])
        for failure in dict.fromkeys(samples.failures):
            print(f"not measured: {failure}")
        write_json(RESULTS, sections, samples.values)


def _measure(
    sections: dict[str, list[Figure]], name: str, samples: Samples, arguments: argparse.Namespace
) -> None:
    sections[name] = PARTS[name](samples, arguments)


def _start(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    return start.measure(1 if arguments.quick else start.DEFAULT_RUNS)


def _opening(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    events, runs = (4_000, 5) if arguments.quick else (100_000, 15)
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(opening.measure(events, runs, Path(folder) / "postgres"))


def _playing(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(playing.measure(100 if arguments.quick else 10_000, Path(folder) / "postgres"))


def _queue(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(queue.measure(5 if arguments.quick else 60, Path(folder) / "postgres"))


def _book(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    chapters, prompts = (3, 14) if arguments.quick else (book.CHAPTERS, book.PROMPTS)
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(book.measure(chapters, prompts, Path(folder) / "postgres"))


def _recall(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    items, runs = (recall.ITEMS // 10, 10) if arguments.quick else (recall.ITEMS, 30)
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(recall.measure(recall.CHAPTERS, items, runs, Path(folder) / "postgres"))


def _context(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    return context.figures("local" if arguments.quick else "openai")


def _screen(samples: Samples, arguments: argparse.Namespace) -> list[Figure]:
    plan = QUICK if arguments.quick else FULL
    measure_screen(samples, plan._replace(runs=arguments.runs or plan.runs))
    return screen_figures(samples)


def _story(_: Samples, arguments: argparse.Namespace) -> list[Figure]:
    amounts = (200, 200, 10) if arguments.quick else (6_000, 5_000, 300)
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder) / "home"
        long_story.prepare_beside(home, *amounts)
        return asyncio.run(long_story.visit_all(home))


def _peers(samples: Samples, arguments: argparse.Namespace) -> list[Figure]:
    peers.measure_peers(samples, arguments.runs or (1 if arguments.quick else peers.RUNS), [*PEERS])
    return peers.figures(samples)


PARTS: dict[str, Callable[[Samples, argparse.Namespace], list[Figure]]] = {
    "screen": _screen,
    "story": _story,
    "peers": _peers,
    "start": _start,
    "opening": _opening,
    "playing": _playing,
    "queue": _queue,
    "context": _context,
    "book": _book,
    "lore": lambda _, arguments: lore.figures(10 if arguments.quick else 30),
    "recall": _recall,
    "embedding": lambda _, arguments: asyncio.run(embedding.measure(5 if arguments.quick else 30)),
    "installation": lambda *_: installation.figures(),
    "fresh": lambda *_: installation.fresh(),
}
FETCHING = ("peers", "fresh")
"""Sections that fetch from the registry, which a try leaves out."""

if __name__ == "__main__":
    main()
