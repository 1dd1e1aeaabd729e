"""The page docs/reliability.md: promises, method, and the figures of the run that wrote it."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from db.embedded.binaries import find_binaries
from tests.torture.phases import Found, Wanted

TEMPLATE = Path(__file__).with_name("reliability.template.md")

ROWS: tuple[tuple[str, str], ...] = (
    ("kill points", "{kills:,}"),
    ("… named steps and kinds among them", "{kill_steps:,}"),
    ("runs of the program", "{program_runs:,}"),
    ("looks of the reader, each at every session", "{looks:,}"),
    ("rows found again unchanged", "{rows_seen_again:,}"),
    ("characters that were confirmed", "{confirmed_characters:,}"),
    ("… lost", "{lost_characters:,}"),
    ("characters typed more than a second before a kill", "{typed_characters:,}"),
    ("… lost", "{lost_typed_characters:,}"),
    ("rows of the table of model faults that held", "{model_passed:,}"),
    ("tests of storage faults that held (skipped)", "{storage_passed:,} ({storage_skipped:,})"),
    ("random play: runs, steps", "{random_runs:,}, {random_steps:,}"),
    (
        "random play: crashes, model faults, outages",
        "{random_crashes:,}, {random_faults:,}, {random_outages:,}",
    ),
    ("random play: words, of them lost or twice", "{random_words:,}, 0"),
    (
        "soak: prompts, model faults, store faults",
        "{soak_prompts:,}, {soak_model_faults:,}, {soak_store_faults:,}",
    ),
    ("soak: memory early and late, MB", "{memory_early_mb:.1f}, {memory_late_mb:.1f}"),
    (
        "soak: tasks, descriptors, connections more than before",
        "{tasks_grown:,}, {descriptors_grown:,}, {connections_grown:,}",
    ),
    ("tests of backups across time that held (skipped)", "{backup_passed:,} ({backup_skipped:,})"),
)


class _Counts(dict[str, float]):
    """Figures by name; a phase that was not run has none."""

    def __missing__(self, name: str) -> float:
        return 0


def page_of(found: Mapping[str, Found], wanted: Wanted, seconds: float) -> str:
    """Return the page for what these phases found."""
    counts = _Counts()
    for result in found.values():
        for name, count in result.counts.items():
            counts[name] = counts[name] + count
    for when in ("early", "late"):
        counts[f"memory_{when}_mb"] = counts[f"memory_{when}"] / 1e6
    rows = "\n".join(f"| {what} | {figure.format_map(_whole(counts))} |" for what, figure in ROWS)
    return TEMPLATE.read_text("utf-8").format(
        minutes=seconds / 60,
        when=datetime.now(UTC).strftime("%d %B %Y"),
        seed=wanted.seed,
        length=wanted.length,
        cores=os.cpu_count(),
        python=platform.python_version(),
        server=find_binaries().version(),
        rows=rows,
    )


def _whole(counts: _Counts) -> _Counts:
    """Return the counts as whole numbers, so that no figure ends in a point and a nought."""
    return _Counts({name: n if name.endswith("_mb") else int(n) for name, n in counts.items()})
