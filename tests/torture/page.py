"""The page docs/reliability.md: promises, method, and the figures of the run that wrote it."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter

from db.embedded.machine.binaries import find_binaries
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
    (
        "random play: windows, resets, streams that broke off",
        "{random_windows:,}, {random_resets:,}, {random_cut_streams:,}",
    ),
    (
        "random play: words typed, and confirmed, of these lost, told twice",
        "{random_words:,}, {random_confirmed:,}, {random_lost:,}, {random_twice:,}",
    ),
    (
        "leaks: chapters, inputs, canaries where they may be, and where not",
        "{leak_chapters:,}, {leak_inputs:,}, {leak_tokens:,}, {leaks:,}",
    ),
    ("runs of random keys on the screen that held", "{keys_passed:,}"),
    (
        "soak: prompts, model faults, store faults",
        "{soak_prompts:,}, {soak_model_faults:,}, {soak_store_faults:,}",
    ),
    ("soak: memory early and late, MB", "{memory_early_mb:.1f}, {memory_late_mb:.1f}"),
    (
        "soak: tasks, descriptors, connections more than before",
        "{tasks_grown:,}, {descriptors_grown:,}, {connections_grown:,}",
    ),
    (
        "queue: requests, kinds, chapters, windows",
        "{queue_requests:,}, {queue_kinds:,}, {queue_chapters:,}, {queue_windows:,}",
    ),
    (
        "queue: windows killed, closed and opened again, pauses",
        "{queue_kills:,}, {queue_restarts:,}, {queue_pauses:,}",
    ),
    (
        "queue: takes, calls, put back or interrupted, failed, dead letters",
        "{queue_takes:,}, {queue_calls:,}, {queue_put_back:,}, {queue_failed:,}, {queue_dead:,}",
    ),
    (
        "queue: the longest wait of a high, normal and low request, in calls",
        "{queue_wait_high:,}, {queue_wait_normal:,}, {queue_wait_low:,}",
    ),
    ("queue: later calls, no more urgent, before one that was taken, at most", "{queue_passed:,}"),
    ("queue: requests that were confirmed, lost", "{queue_confirmed:,}, {queue_lost:,}"),
    ("tests of backups across time that held (skipped)", "{backup_passed:,} ({backup_skipped:,})"),
)


NOT_RUN = "not run"


def page_of(found: Mapping[str, Found], wanted: Wanted, seconds: float, earlier: float = 0.0) -> str:
    """Return the page for what these phases found in so many seconds, and in an earlier run's."""
    counts: dict[str, float] = {}
    for result in found.values():
        for name, count in result.counts.items():
            counts[name] = counts.get(name, 0) + count
    for when in ("early", "late"):
        if (memory := f"memory_{when}") in counts:
            counts[f"{memory}_mb"] = counts[memory] / 1e6
    rows = "\n".join(f"| {what} | {_row(figure, counts)} |" for what, figure in ROWS)
    return TEMPLATE.read_text("utf-8").format(
        minutes=seconds / 60,
        earlier=f", and {earlier / 60:.1f} of phases that had ended in an earlier one" if earlier else "",
        when=datetime.now(UTC).strftime("%d %B %Y"),
        seed=wanted.seed,
        length=wanted.length,
        cores=os.cpu_count(),
        python=platform.python_version(),
        server=find_binaries().version(),
        rows=rows,
    )


def _row(figure: str, counts: Mapping[str, float]) -> str:
    """Return the figures of a row, or that the phase which makes them did not run: a nought is a figure."""
    names = {name for _, name, _, _ in Formatter().parse(figure) if name}
    if not names <= counts.keys():
        return NOT_RUN
    # Whole numbers, so that no figure ends in a point and a nought.
    return figure.format_map({name: n if name.endswith("_mb") else int(n) for name, n in counts.items()})
