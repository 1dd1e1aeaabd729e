"""Orders of the controller to the program to kill, and the reports of that program: two small files."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class Victim(StrEnum):
    """The process that gets SIGKILL."""

    PROGRAM = "the program"
    POSTGRES = "the processes of PostgreSQL"
    ALL = "both, and the supervisor"


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One kill: at this step of the pipeline, of this victim."""

    step: str
    victim: Victim


MOST_TURNS = 8
"""How many turns of the event loop a step is under way at most, when something is killed in its midst."""


@dataclass(frozen=True, slots=True)
class Orders:
    """At which steps what is to be killed; `home` is that of the private server."""

    home: Path
    report: Path
    seed: int = 0
    points: tuple[Point, ...] = ()
    names_steps: bool = False
    """Report every step that is reached, and not only those at which something was killed."""
    most_turns: int = MOST_TURNS

    def write(self, file: Path) -> None:
        """Write them for the child."""
        points = [[point.step, point.victim] for point in self.points]
        kept = {"home": str(self.home), "report": str(self.report), "seed": self.seed}
        how = {"names_steps": self.names_steps, "most_turns": self.most_turns}
        file.write_text(json.dumps({**kept, "points": points, **how}))

    @classmethod
    def read(cls, file: Path) -> "Orders":
        """Read what `write` wrote."""
        kept = json.loads(file.read_text())
        points = tuple(Point(step, Victim(victim)) for step, victim in kept["points"])
        home, report = Path(kept["home"]), Path(kept["report"])
        return cls(home, report, kept["seed"], points, kept["names_steps"], kept["most_turns"])


@dataclass(slots=True)
class Report:
    """Steps of a child: every line is in the file before the next step begins."""

    steps: list[str] = field(default_factory=list)
    killed: list[Point] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Everything that the engine confirmed to have stored for the GM."""
    calls: list[str] = field(default_factory=list)
    """The kind of every call that a model was given."""

    @classmethod
    def read(cls, file: Path) -> "Report":
        """Read what there is; a line that was cut off by the kill is none."""
        report = cls()
        for line in _lines(file):
            match line:
                case {"step": step}:
                    report.steps.append(step)
                case {"kill": step, "victim": victim}:
                    report.killed.append(Point(step, Victim(victim)))
                case {"text": text}:
                    report.texts.append(text)
                case {"call": kind}:
                    report.calls.append(kind)
        return report


def append(file: Path, line: dict[str, str]) -> None:
    """Add one line to a report."""
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, json.dumps(line).encode() + b"\n")
    finally:
        os.close(handle)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    if not file.exists():
        return
    for line in file.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return
