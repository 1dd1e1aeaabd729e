"""Changes one thing in `core` at a time and says which changes no test notices.

    python -m tools.mutants --seed 1 --count 200        draws 200 changes by the seed 1
    python -m tools.mutants --files 'core/text/cleaning.py'      tries every change in these files

The tests run once under `coverage`, which tells what tests run a line; a mutant is then tried with those
alone, the quick ones of every kind first, until one fails or a minute of them has passed. Everything happens
in copies of the tree. `tools/mutants.toml` lists the mutants that change nothing, with the reason; they do
not count.
"""

import argparse
import json
import queue
import random
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tools.mutant_kinds import Mutant, mutants_of
from tools.mutant_trials import Copy, Coverage, Outcome, Trial, say

ROOT = Path(__file__).parents[1]
EQUIVALENT = ROOT / "tools" / "mutants.toml"
KEPT = ROOT / "build" / "mutants"
"""Directory of the coverage of tests, valid as long as no file changes."""
SUITES = ("tests/core", "tests/engine")
EVERYTHING = ("core/**/*.py",)
DRAWN = 200
GOAL = 0.9


class Equivalent(NamedTuple):
    """A change that no test can notice, known by the text of its line and not by its number."""

    file: str
    before: str
    after: str

    @classmethod
    def of(cls, mutant: Mutant) -> "Equivalent":
        """Return how a list would name this mutant."""
        return cls(mutant.path, mutant.before, mutant.after)


def read_equivalent(file: Path = EQUIVALENT) -> dict[Equivalent, str]:
    """Return the reason of each change that was judged to change nothing."""
    entries = tomllib.loads(file.read_text("utf-8")).get("equivalent", ())
    return {Equivalent(entry["file"], entry["before"], entry["after"]): entry["reason"] for entry in entries}


def find_mutants(root: Path, patterns: Iterable[str]) -> list[Mutant]:
    """Return every mutant of the files that match, in a fixed order."""
    files = sorted({file for pattern in patterns for file in root.glob(pattern)})
    return [
        mutant
        for file in files
        for mutant in mutants_of(file.relative_to(root).as_posix(), file.read_bytes())
    ]


def draw(mutants: Sequence[Mutant], seed: int, count: int | None, root: Path) -> list[Mutant]:
    """Return `count` of them by the seed, or all; what Python cannot read or tell apart is no mutant."""
    shuffled = random.Random(seed).sample(mutants, len(mutants)) if count is not None else list(mutants)
    drawn: list[Mutant] = []
    for mutant in shuffled:
        if count is not None and len(drawn) == count:
            break
        if mutant.is_another_program((root / mutant.path).read_bytes()):
            drawn.append(mutant)
    return drawn


def try_all(mutants: Sequence[Mutant], coverage: Coverage, workers: int, seconds: float) -> list[Trial]:
    """Try each mutant; say of each how it ended as soon as it has."""
    with (
        tempfile.TemporaryDirectory(prefix="se-mutants-", ignore_cleanup_errors=True) as name,
        ExitStack() as opened,
        ThreadPoolExecutor(workers) as pool,
    ):
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(workers):
            copies.put(opened.enter_context(Copy(ROOT, Path(name) / str(number))))

        def tried(mutant: Mutant) -> Trial:
            copy = copies.get()
            try:
                trial = copy.try_out(mutant, coverage, seconds)
            finally:
                copies.put(copy)
            change = f"\n{changed(mutant)}" if trial.outcome is Outcome.SURVIVED else ""
            say(f"{trial.outcome:8} {trial.seconds:6.1f} s  {place(mutant)}{change}")
            return trial

        return list(pool.map(tried, mutants))


def place(mutant: Mutant) -> str:
    """Say where a mutant is, and its kind."""
    return f"{mutant.path}:{mutant.number} ({mutant.kind})"


def changed(mutant: Mutant) -> str:
    """Return the change as a difference of one line."""
    return f"- {mutant.before}\n+ {mutant.after}"


def report(trials: Sequence[Trial], equivalent: int, seed: int, seconds: float) -> str:
    """Return the survivors, and the score in the last line."""
    survivors = [trial for trial in trials if trial.outcome is Outcome.SURVIVED]
    lines = [
        f"\n{place(mutant)}, got past {tests} tests\n{changed(mutant)}" for mutant, _, tests, *_ in survivors
    ]
    caught = len(trials) - len(survivors)
    share = f"{caught / len(trials):.1%}" if trials else "nothing to try"
    timed_out = sum(trial.outcome is Outcome.TIMED_OUT for trial in trials)
    lines.append(
        f"\nseed {seed}: {caught} of {len(trials)} mutants noticed ({share}; {timed_out} by their time-out), "
        f"{equivalent} more change nothing, {seconds / 60:.0f} min"
    )
    return "\n".join(lines)


def main() -> int:
    """Return 0 when nine of ten mutants that change something are noticed."""
    arguments = _arguments()
    began = time.monotonic()
    listed = read_equivalent()
    everything = find_mutants(ROOT, EVERYTHING)
    for stale in sorted(listed.keys() - {Equivalent.of(mutant) for mutant in everything}):
        say(f"{EQUIVALENT.name} lists what is no longer there: {stale.file}: {stale.before}")
    mutants = find_mutants(ROOT, arguments.files) if arguments.files else everything
    count = arguments.count or (None if arguments.files else DRAWN)
    drawn = draw(mutants, arguments.seed, count, ROOT)
    to_try = [mutant for mutant in drawn if Equivalent.of(mutant) not in listed]
    left_out = len(drawn) - len(to_try)
    say(f"{len(mutants)} mutants, {len(drawn)} drawn, {left_out} of those change nothing")
    coverage = Coverage.of(ROOT, arguments.tests, KEPT)
    trials = try_all(to_try, coverage, arguments.workers, arguments.seconds)
    say(report(trials, left_out, arguments.seed, time.monotonic() - began))
    if arguments.json is not None:
        found = [trial.as_json() for trial in trials]
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    caught = sum(trial.outcome is not Outcome.SURVIVED for trial in trials)
    return 0 if caught >= GOAL * len(trials) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="chooses what is drawn (1)")
    parser.add_argument("--count", type=int, help="how many are drawn (200, or all of --files)")
    parser.add_argument("--files", nargs="+", help="patterns of the files to change (core/**/*.py)")
    parser.add_argument("--tests", nargs="+", default=SUITES, help="the tests to notice it")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried at a time (2)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for each mutant (60)")
    parser.add_argument("--json", type=Path, help="where every trial is written to")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
