"""Chat programs for the terminal that a user would pick instead, beside us and the floor.

    python -m bench.screen.peers [--runs 10] [--from FOLDER] [--only NAME …]

Each is installed from the registry into a throw-away environment, or found in FOLDER/NAME where that was
done before. They start with an empty home, and their model is a service on this machine. What cannot be
installed or does not start is printed, not hidden. Of everybody alike are taken: the time to the first page,
the memory a moment later, and the processor time of a reply that streams, theirs below an empty conversation,
ours below a transcript of 60,000 characters.
"""

import argparse
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
from bench.screen.peer_programs import PEERS, Peer, begin_ours
from bench.screen.service import MODEL, RATE, TOKENS, service
from bench.screen.stage import FLOOR, LAST_WORD, PROGRAM, ROOT, bare_environment, prepare
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
    ("processor per 1,000 tokens", "stream", "s", 1.0, True),
)
"""What is called how, its unit and scale, and whether we are to be ahead of the peers in it."""


@dataclass(frozen=True)
class Contestant:
    """Something that is started; what has a conversation says how one begins and what sends a prompt."""

    name: str
    command: Sequence[str | Path]
    prepare: Callable[[Path], Mapping[str, str]]
    """Makes what it needs in an empty folder, and returns its environment."""
    page: str = ""
    """What its first page shows; the first ink where nothing is named."""
    begin: Callable[[Window], None] | None = None
    send: str = "enter"


def install(package: str, folder: Path) -> Path:
    """Return the programs of a package, in an environment of its own; raise OSError with the reason.

    By uv, which solves in seconds what pip takes a quarter of an hour for.
    """
    programs = folder / package / "bin"
    if (programs / PEERS[package].command[0]).exists():
        return programs
    uv = folder / "uv" / "bin" / "uv"
    try:
        if not uv.exists():
            venv.create(folder / "uv", with_pip=True)
            _run([uv.with_name("python"), "-m", "pip", "install", "--disable-pip-version-check", "uv"])
        _run([uv, "venv", "--allow-existing", "--python", sys.executable, programs.parent])
        # As after a first start: what counts is a warm one.
        options: list[str | Path] = ["--system-certs", "--compile-bytecode", "--python", programs / "python"]
        _run([uv, "pip", "install", *options, package])
    except subprocess.TimeoutExpired:
        raise OSError(f"not installed within {INSTALLATION:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise OSError(" ".join(str(error.stderr).split())) from None
    return programs


def _run(command: Sequence[str | Path]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALLATION)


def contestants(
    folder: Path, home: Path, port: int, packages: Sequence[str], samples: Samples
) -> Iterator[Contestant]:
    """Yield the floor, us, and the peers that could be installed; their model is at this port."""
    stage = prepare(home / "ours", prompts=500, blank=0)
    stage.choose(stage.long)
    ours = {
        **stage.environment,
        "STORYENGINE_PROVIDER": "openai",
        "STORYENGINE_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "STORYENGINE_MODEL": MODEL,
    }
    yield Contestant("floor", FLOOR, bare_environment)
    yield Contestant(OURS, [PROGRAM], lambda _: ours, "^q Quit", begin_ours)
    for package in packages:
        print(f"installing {package}", file=sys.stderr)
        peer = PEERS[package]
        try:
            programs = install(package, folder)
        except OSError as error:
            samples.failures.append(f"{package}: {error}")
            continue
        command: list[str | Path] = [programs / peer.command[0], *peer.command[1:]]
        surroundings = partial(_prepare, peer, port)
        yield Contestant(package, command, surroundings, peer.page, peer.begin, peer.send)


def _prepare(peer: Peer, port: int, folder: Path) -> Mapping[str, str]:
    return {**bare_environment(folder), **peer.point_at(folder, port)}


def visit(samples: Samples, one: Contestant) -> None:
    """Start it in an empty home, see it, have a reply streamed in it, end it."""
    with (
        tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder,
        Window(one.command, one.prepare(Path(folder)), cwd=ROOT) as window,
    ):
        painted = window.wait_for(one.page or (lambda: bool(window.shown.strip())), START)
        samples.add(f"{one.name} page", painted - window.began)
        # Cursors blink and logos move: nobody is waited for until nothing changes.
        window.settle(SILENCE, MOMENT)
        samples.add(f"{one.name} memory", window.resident())
        if one.begin is None:
            return
        one.begin(window)
        before = window.processor_seconds()
        window.press(one.send)
        # Recorded first and parsed later: the parser takes the processor that the program needs.
        time.sleep(TOKENS / RATE)
        window.wait_for(LAST_WORD, START)
        window.settle(SILENCE, MOMENT)
        samples.add(f"{one.name} stream", (window.processor_seconds() - before) / TOKENS * 1000)


def figures(samples: Samples) -> list[Figure]:
    """Return the rows; ours is to be ahead of every peer."""
    made = []
    for what, measured, unit, scale, is_a_goal in ROWS:
        ours = samples.median(f"{OURS} {measured}")
        if ours is None:
            continue
        for name in ("floor", OURS, *PEERS):
            value = samples.median(f"{name} {measured}")
            if value is None:
                continue
            goal, is_met = ("> ours", value > ours) if is_a_goal and name in PEERS else ("", None)
            made.append(Figure(f"{what}: {name}", value * scale, unit, value / ours, goal, is_met))
    return made


def measure_peers(samples: Samples, runs: int, packages: Sequence[str], folder: Path | None = None) -> None:
    """Install, and measure in turns; what fails is among the failures of `samples`."""
    home = Path(tempfile.mkdtemp(prefix="storyengine-bench-"))
    try:
        with service() as port:
            entered = list(contestants(folder or home / "environments", home, port, packages, samples))
            for run in range(runs):
                print(f"peers: run {run + 1} of {runs}", file=sys.stderr)
                for one in entered:
                    samples.attempt(one.name, partial(visit, samples, one))
    finally:
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
