"""Measures the engine's cost of a prompt against other versions of the program: all of them in turns.

    python -m bench.play.against CHECKOUT [CHECKOUT …] [--prompts 300]

Each checkout, and this one, plays a chapter of its own without takes, audiences and prices, in a process and
on a private server of its own; the order of the turns goes round. Printed for each: processor time and wall
time of a prompt from sending to stored, without the time inside the provider, as the median, and against the
first checkout. Processor time is what counts on a machine with neighbours.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import Figure, print_table

HERE = Path(__file__).parents[2]
PLAYER = Path(__file__).with_name("against_player.py")
WARM = 10
"""Prompts that are played before any is counted."""
LONGEST_WAIT = 120


@dataclass
class Version:
    """A checkout that plays: the seconds of each prompt."""

    name: str
    process: subprocess.Popen[str]
    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def play(self) -> None:
        """Play a prompt and note what it took."""
        wall, processor = map(float, self.ask("go").split())
        self.wall.append(wall)
        self.processor.append(processor)

    def ask(self, line: str = "") -> str:
        """Send a line where one is given, and return the next one that comes."""
        assert self.process.stdin
        assert self.process.stdout
        if line:
            print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.name} ended")
        return answer


@contextmanager
def playing(checkout: Path) -> Iterator[Version]:
    """Start a checkout, and end it at last."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    process = subprocess.Popen(
        [sys.executable, "-P", str(PLAYER)],
        cwd=checkout,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Version(checkout.name, process)
    finally:
        assert process.stdin
        process.stdin.close()
        process.wait(LONGEST_WAIT)


def figures(versions: list[Version]) -> Iterator[Figure]:
    """Return the medians, and for all but the first the ratio to it."""
    first = versions[0]
    for what in ("processor", "wall"):
        base = statistics.median(getattr(first, what)[WARM:])
        for version in versions:
            middle = statistics.median(getattr(version, what)[WARM:])
            ratio = None if version is first else middle / base
            yield Figure(f"{what} time of a prompt, {version.name}", middle * 1000, "ms", ratio)


def main() -> None:
    """Play in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--prompts", type=int, default=300)
    given = parser.parse_args()
    with ExitStack() as stack:
        checkouts = [*(checkout.resolve() for checkout in given.checkouts), HERE]
        versions = [stack.enter_context(playing(checkout)) for checkout in checkouts]
        for version in versions:
            version.ask()
        for turn in range(given.prompts + WARM):
            at = turn % len(versions)
            for version in versions[at:] + versions[:at]:
                version.play()
        print_table(f"{given.prompts:,} prompts, in turns", list(figures(versions)))


if __name__ == "__main__":
    main()
