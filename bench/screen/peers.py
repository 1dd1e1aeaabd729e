"""Chat programs for the terminal that a user would pick instead: how soon they show, beside us and the floor.

    python -m bench.screen.peers [--runs 10] [--from FOLDER] [--only NAME …]

Each is installed from the registry into a throw-away environment, or found in FOLDER/NAME where that was
done before. They start with an empty home and without a service to talk to. What cannot be installed or
does not start is printed, not hidden. Of everybody alike the first ink on the screen is taken, for each has a
page of its own, and the memory a moment later.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.measure import Figure, print_table, write_json
from bench.screen.stage import FLOOR, PROGRAM, ROOT, bare_environment, prepare
from bench.screen.visits import Samples
from bench.screen.window import Window

RESULTS = Path("bench/results/peers.json")
INSTALLATION = 300.0
START = 60.0
SILENCE, MOMENT = 1.0, 3.0
PEERS = {"elia-chat": "elia", "oterm": "oterm", "parllama": "parllama", "batrachian-toad": "toad"}
"""The package and its program."""


@dataclass(frozen=True)
class Contestant:
    """Something that is started."""

    name: str
    command: Sequence[str | Path]
    environment: Mapping[str, str]
    folder: Path


def install(package: str, folder: Path) -> Path:
    """Return the program of a package in an environment of its own; raise OSError with the reason."""
    program = folder / package / "bin" / PEERS[package]
    if program.exists():
        return program
    venv.create(folder / package, with_pip=True)
    python = folder / package / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        done = subprocess.run([*pip, package], capture_output=True, text=True, timeout=INSTALLATION)
    except subprocess.TimeoutExpired:
        raise OSError(f"not installed within {INSTALLATION:.0f} s") from None
    if done.returncode:
        raise OSError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")
    return program


def contestants(folder: Path, home: Path, packages: Sequence[str], samples: Samples) -> Iterator[Contestant]:
    """Yield the floor, us, and the peers that could be installed."""
    stage = prepare(home / "ours", prompts=50, blank=0)
    stage.choose(stage.long)
    yield Contestant("floor", FLOOR, bare_environment(home), ROOT)
    yield Contestant("storyengine", [PROGRAM], stage.environment, stage.home)
    for package in packages:
        print(f"installing {package}", file=sys.stderr)
        place = home / package
        place.mkdir()
        try:
            yield Contestant(package, [install(package, folder)], bare_environment(place), place)
        except OSError as error:
            samples.failures.append(f"{package}: {error}")


def show_up(samples: Samples, one: Contestant) -> None:
    """Start it, see it, end it."""
    with Window(one.command, one.environment, cwd=one.folder) as window:
        inked = window.wait_for(lambda: bool(window.shown.strip()), START)
        samples.add(f"{one.name} ink", inked - window.began)
        # Cursors blink and logos move: nobody is waited for until nothing changes.
        window.settle(SILENCE, MOMENT)
        samples.add(f"{one.name} memory", window.resident())


def figures(samples: Samples, names: Sequence[str]) -> list[Figure]:
    """Return the rows; ours is to be ahead of every peer."""
    made = []
    for what, unit, scale in (("ink", "ms", 1000.0), ("memory", "MB", 2.0**-20)):
        floor, ours = samples.median(f"floor {what}"), samples.median(f"storyengine {what}")
        for name in names:
            value = samples.median(f"{name} {what}")
            if value is None or not floor or ours is None:
                continue
            is_peer = name in PEERS
            goal, is_met = ("> ours", value > ours) if is_peer else ("", None)
            made.append(Figure(f"{what}: {name}", value * scale, unit, value / floor, goal, is_met))
    return made


def main() -> None:
    """Install, measure in turns, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--from", dest="folder", type=Path, help="where environments stand already")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS), help="some of them")
    arguments = parser.parse_args()
    samples = Samples()
    home = Path(tempfile.mkdtemp(prefix="storyengine-bench-"))
    try:
        folder = arguments.folder or home / "environments"
        entered = list(contestants(folder, home, arguments.only, samples))
        for run in range(arguments.runs):
            print(f"run {run + 1} of {arguments.runs}", file=sys.stderr)
            for one in entered:
                samples.attempt(one.name, partial(show_up, samples, one))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    made = figures(samples, [one.name for one in entered])
    print_table("Beside others", made)
    for failure in dict.fromkeys(samples.failures):
        print(f"not measured: {failure}")
    write_json(RESULTS, {"peers": made}, samples.values)


if __name__ == "__main__":
    main()
