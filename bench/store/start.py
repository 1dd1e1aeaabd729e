"""Times the private database: cold, warm and attached, next to PostgreSQL's own programs.

`initdb` and `pg_ctl start --wait` do the bare minimum with their defaults; the ratio says what our life cycle
adds to them or saves. Run `python -m bench.store.start [RUNS]`.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import Figure, print_table
from db.embedded.machine.binaries import Binaries, find_binaries, program_environment
from db.embedded.machine.run_as import RunAs, choose_run_as
from db.embedded.server import EmbeddedServer

DEFAULT_RUNS = 10
TIMEOUT = 120.0


@dataclass
class Figures:
    """Seconds of every run, by measurement."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, name: str, action: Callable[[], object]) -> None:
        """Add the time that `action` takes."""
        started = time.perf_counter()
        action()
        self.seconds.setdefault(name, []).append(time.perf_counter() - started)

    def median(self, name: str) -> float:
        """Return the median of the runs, in seconds."""
        return statistics.median(self.seconds[name])


class BarePostgres:
    """PostgreSQL's own programs with nothing around them, run as the private server would be."""

    def __init__(self, run_as: RunAs, binaries: Binaries) -> None:
        self._run_as = run_as
        self._binaries = binaries
        self._data = run_as.base / "data"

    def initdb(self) -> None:
        """Make a data directory with the defaults."""
        self._run(
            "initdb", "-D", str(self._data), "--username=storyengine", "--auth=peer", "--no-instructions"
        )

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        options = f"-c listen_addresses= -c unix_socket_directories={self._run_as.base}"
        self._control("start", "-l", str(self._run_as.base / "log"), "-o", options)

    def stop(self) -> None:
        """Stop the server."""
        self._control("stop", "-m", "fast")

    def _control(self, command: str, *arguments: str) -> None:
        self._run("pg_ctl", command, "--wait", "--silent", "-D", str(self._data), *arguments)

    def _run(self, name: str, *arguments: str) -> None:
        program = self._binaries.program(name)
        result = self._run_as.run([program, *arguments], program_environment(), TIMEOUT)
        if result.returncode:
            raise subprocess.CalledProcessError(result.returncode, name, result.stdout, result.stderr)


def measure_ours(figures: Figures, home: Path) -> None:
    """Start once cold and once warm, attach once, stop in between."""
    server, second = EmbeddedServer(home, grace=0.0), EmbeddedServer(home, grace=0.0)
    figures.measure("cold", server.acquire)
    stop(server)
    figures.measure("warm", server.acquire)
    figures.measure("attach", second.acquire)
    second.release()
    stop(server)


def stop(server: EmbeddedServer) -> None:
    """Let go and wait until the server is gone."""
    server.release()
    deadline = time.monotonic() + TIMEOUT
    while server.is_supervised():
        if time.monotonic() > deadline:
            raise TimeoutError("the server did not stop")
        time.sleep(0.01)


def measure_bare(figures: Figures, base: Path, binaries: Binaries) -> None:
    """Make, start and stop a server by PostgreSQL's own programs."""
    base.mkdir(mode=0o700)
    bare = BarePostgres(choose_run_as(base, binaries), binaries)
    figures.measure("initdb", bare.initdb)
    figures.measure("pg_ctl", bare.start)
    bare.stop()


def rows(taken: Figures) -> list[Figure]:
    """Return the medians, and each of ours as a multiple of the bare programs that do the same work."""
    bare_warm = taken.median("pg_ctl")
    bare_cold = taken.median("initdb") + bare_warm
    named = [
        ("bare initdb", taken.median("initdb"), None),
        ("bare pg_ctl start --wait", bare_warm, None),
        ("cold start (initdb + start)", taken.median("cold"), bare_cold),
        ("warm start", taken.median("warm"), bare_warm),
        ("attach", taken.median("attach"), bare_warm),
    ]
    return [
        Figure(name, seconds * 1000, "ms", None if bare is None else seconds / bare)
        for name, seconds, bare in named
    ]


def measure(runs: int) -> list[Figure]:
    """Start ours and the bare programs in turn, so many times."""
    taken, binaries = Figures(), find_binaries()
    base = Path(tempfile.mkdtemp(prefix="storyengine-bench-"))
    try:
        for run in range(runs):
            measure_ours(taken, base / f"ours-{run}")
            measure_bare(taken, base / f"bare-{run}", binaries)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return rows(taken)


def main(arguments: list[str]) -> None:
    """Measure and print."""
    print_table("The private database", measure(int(arguments[0]) if arguments else DEFAULT_RUNS))


if __name__ == "__main__":
    main(sys.argv[1:])
