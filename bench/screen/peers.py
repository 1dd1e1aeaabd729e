"""Chat programs for the terminal that a user would pick instead, beside us and the floor.

    python -m bench.screen.peers [--runs 10] [--from FOLDER] [--only NAME …]

Each is installed from the registry into a throw-away environment, or found in FOLDER/NAME where that was
done before. They have a home of their own, in which they were started once, and their model is a service on
this machine. What cannot be installed or does not start is printed, not hidden. Of everybody alike are taken:
the time to the first page, the memory a moment later, and the processor time of the first reply, which
streams: theirs below an empty conversation, ours below a transcript of 60,000 characters. All of it is of
the program's own process: our PostgreSQL has another, and a client library that is imported for the first
reply counts for whoever does that.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.measure import Figure, print_table, write_json
from bench.screen.peer_programs import PEERS, begin_ours
from bench.screen.service import MODEL, RATE, TOKENS, service
from bench.screen.stage import FLOOR, LAST_WORD, PROGRAM, ROOT, Stage, bare_environment, prepare
from bench.screen.visits import Samples
from bench.screen.window import Window

RESULTS = Path("bench/results/peers.json")
INSTALLATION = 300.0
START = 60.0
SILENCE, MOMENT = 0.35, 3.0
OURS = "storyengine"
RUNS = 10
ROWS = (
    ("first page", "page", "ms", 1000.0, True),
    ("memory", "memory", "MB", 2.0**-20, False),
    ("processor per 1,000 tokens of a first reply", "stream", "s", 1.0, True),
)
"""Measurements: name, unit, scale, and whether we are to be ahead of the peers."""


@dataclass(frozen=True)
class Contestant:
    """Something that is started, again and again in the same home."""

    name: str
    command: Sequence[str | Path]
    environment: Mapping[str, str]
    folder: Path
    page: str = ""
    """Text of its first page; the first ink where nothing is named."""
    begin: Callable[[Window], None] | None = None
    """From its first page to a prompt that is typed and not sent, where it has conversations."""
    send: str = "enter"
    go_on: Callable[[], None] = lambda: None
    """Called before the next start."""


def install(package: str, folder: Path) -> Path:
    """Return the programs of a package, in an environment of its own; raise OSError with the reason.

    By uv, which solves in seconds what pip takes a quarter of an hour for.
    """
    programs = folder / package / "bin"
    if (programs / PEERS[package].command[0]).exists():
        return programs
    uv, cache = folder / "uv" / "bin" / "uv", folder / "cache"
    try:
        if not uv.exists():
            venv.create(folder / "uv", with_pip=True)
            _run([uv.with_name("python"), "-m", "pip", "install", "--disable-pip-version-check", "uv"], cache)
        _run([uv, "venv", "--allow-existing", "--python", sys.executable, programs.parent], cache)
        # As after a first start: what counts is a warm one.
        options: list[str | Path] = ["--system-certs", "--compile-bytecode", "--python", programs / "python"]
        _run([uv, "pip", "install", *options, package], cache)
    except subprocess.TimeoutExpired:
        raise OSError(f"not installed within {INSTALLATION:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise OSError(" ".join(str(error.stderr).split())) from None
    return programs


def _run(command: Sequence[str | Path], cache: Path) -> None:
    environment = {**os.environ, "UV_CACHE_DIR": str(cache)}
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALLATION, env=environment)


def contestants(
    folder: Path, stage: Stage, port: int, packages: Sequence[str], samples: Samples
) -> Iterator[Contestant]:
    """Yield the floor, us, and the peers that could be installed; their model is at this port."""
    chapters = iter(stage.longs)
    ours = {
        **stage.environment,
        "STORYENGINE_PROVIDER": "openai",
        "STORYENGINE_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "STORYENGINE_MODEL": MODEL,
    }
    yield Contestant("floor", FLOOR, bare_environment(stage.home), ROOT)
    # A chapter for every visit: after seven prompts in one of them a summary would be made beside the reply.
    yield Contestant(
        *(OURS, [PROGRAM], ours, stage.home, "^q Quit", begin_ours),
        go_on=lambda: stage.choose(next(chapters)),
    )
    for package in packages:
        print(f"installing {package}", file=sys.stderr)
        peer = PEERS[package]
        try:
            programs = install(package, folder)
        except OSError as error:
            samples.failures.append(f"{package}: {error}")
            continue
        place = stage.home.with_name(package)
        place.mkdir()
        environment = {**bare_environment(place), **peer.point_at(place, port)}
        command: list[str | Path] = [programs / peer.command[0], *peer.command[1:]]
        name = f"{package} {_version(package, programs)}"
        yield Contestant(name, command, environment, place, peer.page, peer.begin, peer.send)


def _version(package: str, programs: Path) -> str:
    records = programs.parent.glob(f"lib/python*/site-packages/{package.replace('-', '_')}-*.dist-info")
    return next((record.stem.partition("-")[2] for record in records), "")


def visit(samples: Samples, one: Contestant) -> None:
    """Start it, see it, have a reply streamed in it, end it."""
    one.go_on()
    with Window(one.command, one.environment, cwd=one.folder) as window:
        painted = window.wait_for(one.page or (lambda: bool(window.shown.strip())), START)
        samples.add(f"peers: {one.name} page", painted - window.began)
        # Cursors blink and logos move: nobody is waited for until nothing changes.
        window.settle(SILENCE, MOMENT)
        samples.add(f"peers: {one.name} memory", window.resident())
        if one.begin is None:
            return
        one.begin(window)
        before = window.processor_seconds()
        window.press(one.send)
        # Recorded first and parsed later: the parser takes the processor that the program needs.
        time.sleep(TOKENS / RATE)
        window.wait_for(LAST_WORD, START)
        window.settle(SILENCE, MOMENT)
        samples.add(f"peers: {one.name} stream", (window.processor_seconds() - before) / TOKENS * 1000)


def figures(samples: Samples) -> list[Figure]:
    """Return the rows: everybody against us, who are to be ahead of every peer."""
    made = []
    for what, measured, unit, scale, is_a_goal in ROWS:
        taken = {
            name.removeprefix("peers: ").removesuffix(f" {measured}"): samples.median(name)
            for name in samples.values
            if name.startswith("peers: ") and name.endswith(f" {measured}")
        }
        ours = taken.get(OURS)
        for name, value in taken.items():
            if value is None or ours is None:
                continue
            goal, is_met = (
                ("", None) if name in ("floor", OURS) or not is_a_goal else ("> ours", value > ours)
            )
            made.append(Figure(f"{what}: {name}", value * scale, unit, value / ours, goal, is_met))
    return made


def measure_peers(samples: Samples, runs: int, packages: Sequence[str], folder: Path | None = None) -> None:
    """Install, and measure in turns; what fails is among the failures of `samples`.

    Of the first visit to each nothing is kept: it makes databases, fills caches, greets.
    """
    home = Path(tempfile.mkdtemp(prefix="storyengine-bench-"))
    stage = prepare(home / OURS, prompts=500, longs=runs + 1)
    try:
        with service() as port:
            entered = list(contestants(folder or home / "environments", stage, port, packages, samples))
            for run in range(runs + 1):
                print(f"peers: run {run} of {runs}" if run else "peers: first visits", file=sys.stderr)
                for one in entered:
                    samples.attempt(one.name, partial(visit, samples if run else Samples(), one))
    finally:
        samples.attempt("the server", stage.wait_until_stopped)
        shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--from", dest="folder", type=Path, help="where environments stand already")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS), help="some of them")
    arguments = parser.parse_args()
    samples = Samples()
    measure_peers(samples, arguments.runs, arguments.only, arguments.folder)
    made = figures(samples)
    print_table("Beside others", made)
    for failure in dict.fromkeys(samples.failures):
        print(f"not measured: {failure}")
    write_json(RESULTS, {"peers": made}, samples.values)


if __name__ == "__main__":
    main()
