"""Draws recall over distance as text."""

from typing import Final

from bench.canon.measure import Results, Way

_FULL: Final = 40
"""Cells of a bar for a recall of 1."""


def recall_plot(results: Results) -> str:
    """Return a bar for each way and distance: the share of the questions whose input has the fact."""
    lines = []
    for distance in sorted({distance for _, distance in results}):
        lines.append(f"asked {distance:,} prompts later")
        for way in Way:
            share = results[way, distance].recall
            bar = "█" * round(share * _FULL)
            lines.append(f"  {way.value:<22}{bar:<{_FULL}} {share:.2f}")
    return "\n".join(lines)
