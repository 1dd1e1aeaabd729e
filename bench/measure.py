"""What the benchmarks share: a figure, its table, and the memory of this process."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table: an absolute value for orientation, and the ratio that counts."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    goal: str = ""


def print_table(title: str, figures: Sequence[Figure]) -> None:
    """Print the figures as a table."""
    table = Table("what", "value", "ratio", "goal", title=title)
    for figure in figures:
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f} ×"
        table.add_row(figure.what, f"{figure.value:,.2f} {figure.unit}", ratio, figure.goal)
    Console().print(table)


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes; Linux only."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
