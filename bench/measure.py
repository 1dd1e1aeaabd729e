"""Parts that the benchmarks share: a figure, its table, its JSON, and the memory of this process."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

WIDTH = 118
"""Columns of a table that is not written to a terminal."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table: an absolute value for orientation, and the ratio that counts.

    `is_met` says whether the goal is reached, where there is one that can be told from the figure.
    """

    what: str
    value: float
    unit: str
    ratio: float | None = None
    goal: str = ""
    is_met: bool | None = None

    @classmethod
    def at_most(cls, what: str, value: float, unit: str, ratio: float, most: float, of: str = "") -> "Figure":
        """Return a figure whose ratio is to stay within `most` times `of`."""
        return cls(what, value, unit, ratio, f"≤ {most:g} × {of}".rstrip(), ratio <= most)


def print_table(title: str, figures: Sequence[Figure]) -> None:
    """Print the figures as a table."""
    table = Table("what", "value", "ratio", "goal", "", title=title)
    marks = {None: "", True: "yes", False: "NO"}
    for figure in figures:
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f} ×"
        value = f"{figure.value:,.2f} {figure.unit}".rstrip()
        table.add_row(figure.what, value, ratio, figure.goal, marks[figure.is_met])
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(table)


def write_json(
    file: Path, sections: Mapping[str, Sequence[Figure]], samples: Mapping[str, Sequence[float]]
) -> None:
    """Write the figures, every single sample, and what they were measured on."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.platform(),
            "load": os.getloadavg(),
        },
        "sections": {title: [asdict(figure) for figure in figures] for title, figures in sections.items()},
        "samples": {name: list(values) for name, values in samples.items()},
    }
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes; Linux only."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
