"""Copies of the tree in which tests run: once to see which lines each runs, then once for every mutant."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Self

from coverage import CoverageData

from tools.mutant_kinds import Mutant
from tools.mutant_plugin import DURATIONS

PYTEST = ("-q", "-p", "tools.mutant_plugin", "-p", "no:xdist", "--assert=plain")
_PASSED, _FAILED, _NOTHING_RUN = 0, 1, 5
_START, _SLOWNESS = 60.0, 5.0
"""A mutant is given so many seconds, and so many times what its tests took, before it counts as hanging."""

_FEW = 3
"""Of a line that fewer tests run, another one may have the result of the first."""


_Ranked = tuple[tuple[str, ...], bool, bool, int, float, str]
"""The directory of a test, what puts it behind others there, the seconds that it takes, and its name."""


class Outcome(StrEnum):
    """Outcome of a mutant."""

    NOTICED = "noticed"
    TIMED_OUT = "hangs"
    SURVIVED = "SURVIVED"


class Trial(NamedTuple):
    """One mutant, tried."""

    mutant: Mutant
    outcome: Outcome
    tests: int
    """Number of tests that could notice it."""
    seconds: float
    by: str
    """The test that failed, where one did."""

    def as_json(self) -> dict[str, object]:
        """Return what a script reads."""
        mutant = self.mutant._asdict()
        del mutant["edit"]
        return mutant | {
            "outcome": self.outcome.name.lower(),
            "tests": self.tests,
            "seconds": round(self.seconds, 1),
            "by": self.by,
        }


class Coverage(NamedTuple):
    """Tests that run each line, and their durations."""

    lines: dict[str, dict[int, list[str]]]
    durations: dict[str, float]

    @classmethod
    def of(cls, root: Path, suites: Sequence[str], kept: Path) -> Self:
        """Return what was found the last time when nothing has changed; run the tests otherwise."""
        file = kept / f"{_fingerprint(root, suites)}.json"
        if not file.exists():
            say("Running the tests once, to see what each of them runs.")
            found = json.dumps(_measured(root, suites))
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            file.write_text(found, "utf-8")
        content = json.loads(file.read_text("utf-8"))
        lines = {
            path: {int(number): tests for number, tests in of_file.items()}
            for path, of_file in content["lines"].items()
        }
        return cls(lines, content["durations"])

    def tests_of(self, path: str, number: int, seconds: float) -> list[str]:
        """Return tests that run a line: of each directory for so many seconds, one of every kind first.

        A line that runs at import, or whose result is cached, belongs to no test or to the first that ran it:
        behind the few that a line has, all that run anything else of the file count, first those in a file of
        tests with its name.
        """
        of_file = self.lines.get(path, {})
        own = set(of_file.get(number, ())) & self.durations.keys()
        tests = own
        if len(own) < _FEW and number in of_file:
            tests = {test for those in of_file.values() for test in those} & self.durations.keys()
        kinds: Counter[str] = Counter()
        ranked: list[_Ranked] = []
        for spent, test in sorted((self.durations[test], test) for test in tests):
            kind = test.partition("[")[0]
            is_others = Path(path).stem not in kind.partition("::")[0]
            ranked.append((Path(test).parts[:2], test not in own, is_others, kinds[kind], spent, test))
            kinds[kind] += 1
        return [
            test
            for _, suite in groupby(sorted(ranked), lambda entry: entry[0])
            for test in _within(seconds, suite)
        ]

    def seconds(self, tests: Sequence[str]) -> float:
        """Return what these tests take together."""
        return sum(self.durations[test] for test in tests)


def _within(seconds: float, suite: Iterable[_Ranked]) -> Iterator[str]:
    """Yield the first test, and those after it until so many seconds are spent."""
    spent = 0.0
    for *_, takes, test in suite:
        if spent and spent + takes > seconds:
            return
        spent += takes
        yield test


class Copy:
    """A copy of the tree, in which one mutant at a time is tried."""

    def __init__(self, source: Path, target: Path) -> None:
        """Copy what git knows or could know; nothing that it ignores."""
        self._root = target
        for name in _files(source):
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, place)
        compile_all = [sys.executable, "-m", "compileall", "-q", "."]
        subprocess.run(compile_all, cwd=target, check=True)
        self._nest: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._nest is not None:
            self._nest.communicate()

    def try_out(self, mutant: Mutant, coverage: Coverage, seconds: float) -> Trial:
        """Put the fault into the copy, run tests of its line, and take it out again."""
        tests = coverage.tests_of(mutant.path, mutant.number, seconds)
        if not tests:
            return Trial(mutant, Outcome.SURVIVED, 0, 0.0, "")
        file = self._root / mutant.path
        source = file.read_bytes()
        began = time.monotonic()
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()
        file.write_bytes(mutant.applied_to(source))
        try:
            code, output = self._pytest(tests, _START + _SLOWNESS * coverage.seconds(tests))
        finally:
            file.write_bytes(source)
        if code == _NOTHING_RUN:
            raise RuntimeError(f"pytest ran nothing for {mutant.path}:{mutant.number}:\n{output}")
        outcome = {None: Outcome.TIMED_OUT, _PASSED: Outcome.SURVIVED}.get(code, Outcome.NOTICED)
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        by = failed[0] if failed else output[-300:] if outcome is Outcome.NOTICED else ""
        return Trial(mutant, outcome, len(tests), time.monotonic() - began, by)

    def _pytest(self, tests: Sequence[str], patience: float) -> tuple[int | None, str]:
        if self._nest is None:
            self._nest = subprocess.Popen(
                [sys.executable, "-m", "tools.mutant_nest"],
                cwd=self._root,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._nest.stdin is not None
        assert self._nest.stdout is not None
        # The names of all tests may be more than fit into a command line.
        chosen, output = self._root / "chosen.txt", self._root / "output.txt"
        chosen.write_text("\n".join(tests) + "\n", "utf-8")
        order = ([*PYTEST, "-x", "--tb=no", f"@{chosen}"], patience, str(output))
        self._nest.stdin.write(json.dumps(order) + "\n")
        self._nest.stdin.flush()
        return json.loads(self._nest.stdout.readline()), output.read_text("utf-8", "replace")

    @property
    def _environment(self) -> dict[str, str]:
        """A compiled file must not outlive the fault that it was made from."""
        ours = {"PYTHONPATH": str(self._root), "PYTHONDONTWRITEBYTECODE": "1", "COVERAGE_CORE": "ctrace"}
        return os.environ | ours

    def run(self, command: Sequence[str], **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the copy to its end."""
        return subprocess.run(
            command,
            cwd=self._root,
            env=self._environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def say(text: str) -> None:
    """Print a line at once, also into a file."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _measured(root: Path, suites: Sequence[str]) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="se-mutants-", ignore_cleanup_errors=True) as name:
        copy = Copy(root, Path(name) / "tree")
        data, durations = Path(name) / "coverage", Path(name) / "durations.json"
        measure = [sys.executable, "-m", "coverage", "run", "--source=core", f"--data-file={data}"]
        done = copy.run([*measure, "-m", "pytest", *PYTEST, *suites], **{DURATIONS: str(durations)})
        if done.returncode not in (_PASSED, _FAILED):
            raise RuntimeError(f"The tests do not run:\n{done.stdout[-3000:]}")
        if done.returncode == _FAILED:
            say(f"Some tests fail without any change, and are left out:\n{done.stdout[-1000:]}")
        lines = _lines_of(data, Path(name) / "tree")
        return {"lines": lines, "durations": json.loads(durations.read_text("utf-8"))}


def _lines_of(data: Path, root: Path) -> dict[str, dict[int, list[str]]]:
    measured = CoverageData(str(data))
    measured.read()
    return {
        Path(file).relative_to(root).as_posix(): {
            number: [test for test in tests if test]
            for number, tests in measured.contexts_by_lineno(file).items()
        }
        for file in measured.measured_files()
    }


def _fingerprint(root: Path, suites: Sequence[str]) -> str:
    digest = hashlib.sha256(repr(suites).encode())
    for name in _files(root):
        if name.startswith(("core/", "db/", "migrations/", "tests/")):
            digest.update(name.encode() + (root / name).read_bytes())
    return digest.hexdigest()[:16]


def _files(root: Path) -> list[str]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.split("\0") if name and (root / name).is_file())
