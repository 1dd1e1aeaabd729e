"""A plot of numbers over time, in lines of block characters, for a text view."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

WIDTH: Final = 50
"""Columns of a plot, at most."""
HEIGHT: Final = 6
"""Lines of a plot."""
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_LABEL: Final = 9
"""Cells beside it for the labels of the top and the bottom."""


def plot_lines(values: Sequence[float], top: float | None = None, unit: str = "") -> list[str]:
    """Return a plot of `values`, oldest first, from 0 to the largest of them, or to `top`.

    Where there are more values than columns, each column shows the largest of its share, so that no peak
    is lost. Without values there are no lines.
    """
    if not values:
        return []
    columns = _largest_of_each(values)
    most = max(*columns, 1e-9) if top is None else top
    # The top of a value that is there is never below the lowest block.
    heights = [max(int(value > 0), round(value / most * HEIGHT * 8)) for value in columns]
    lines = []
    for row in reversed(range(HEIGHT)):
        label = f"{most:,.0f}{unit}" if row == HEIGHT - 1 else "0" if row == 0 else ""
        cells = "".join(_BLOCKS[min(8, max(0, height - 8 * row))] for height in heights)
        lines.append(f"{label:>{_LABEL}} │{cells}".rstrip())
    return lines


def _largest_of_each(values: Sequence[float]) -> list[float]:
    count = min(WIDTH, len(values))
    edges = [len(values) * number // count for number in range(count + 1)]
    return [max(values[first:last]) for first, last in pairwise(edges)]
