"""Every benchmark, one table: `python -m bench [--quick] [--runs N] [--only PART …]`.

The table is printed at the end; every figure and every sample is written as JSON beside it, into
`bench/results/bench.json`. A full run takes about half an hour on two quiet cores.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import context, installation, opening, playing, start
from bench.measure import Figure, print_table, write_json
from bench.screen.figures import screen_figures
from bench.screen.run import FULL, QUICK, measure_screen

RESULTS = Path("bench/results/bench.json")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs and short stories, for a try")
    parser.add_argument("--runs", type=int, help="runs of every row of the screen")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "screen"], help="some parts alone")
    arguments = parser.parse_args()
    wanted = arguments.only or [*PARTS, "screen"]
    sections: dict[str, list[Figure]] = {}
    samples: Mapping[str, list[float]] = {}
    failures: list[str] = []
    loads = [os.getloadavg()[0]]
    for name in (name for name in PARTS if name in wanted):
        print(f"{name} …", file=sys.stderr)
        sections[name] = PARTS[name](arguments.quick)
        loads.append(os.getloadavg()[0])
    if "screen" in wanted:
        plan = QUICK if arguments.quick else FULL
        measured = measure_screen(plan._replace(runs=arguments.runs or plan.runs))
        sections["screen"], samples, failures = screen_figures(measured), measured.values, measured.failures
        loads.append(os.getloadavg()[0])
    sections["machine"] = [Figure("load while measuring, at most", max(loads), "", None)]
    print_table("Story Engine", [figure for figures in sections.values() for figure in figures])
    for failure in failures:
        print(f"not measured: {failure}")
    write_json(RESULTS, sections, samples)


def _opening(is_quick: bool) -> list[Figure]:
    events, runs = (4_000, 5) if is_quick else (100_000, 15)
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-") as folder:
        return asyncio.run(opening.measure(events, runs, Path(folder) / "postgres"))


def _playing(is_quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-") as folder:
        return asyncio.run(playing.measure(100 if is_quick else 10_000, Path(folder) / "postgres"))


def _context(is_quick: bool) -> list[Figure]:
    return context.figures("local" if is_quick else "openai")


def _start(is_quick: bool) -> list[Figure]:
    return start.measure(1 if is_quick else start.DEFAULT_RUNS)


PARTS: dict[str, Callable[[bool], list[Figure]]] = {
    "start": _start,
    "opening": _opening,
    "playing": _playing,
    "context": _context,
    "installation": lambda _: installation.figures(),
}

if __name__ == "__main__":
    main()
