"""The phases of `make torture`: each is a process of its own, and ends with its figures."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

from tests.e2e.program import machine, warm_machine
from tests.leaks.further_chapter import FurtherChapter
from tests.leaks.many_chapters import play_chapters, play_on_server
from tests.store.servers import plain_server, private_server
from tests.torture.kills.kill_additions import kill_corrections, kill_test_calls
from tests.torture.kills.kill_bank import kill_bank
from tests.torture.kills.kill_beside import kill_beside
from tests.torture.kills.kill_commands import kill_commands, kill_resets
from tests.torture.kills.kill_library import kill_library
from tests.torture.kills.kill_matrix import ROOT, KillFigures, Torturer, all_points, play_and_kill
from tests.torture.kills.kill_memory import kill_memory
from tests.torture.kills.kill_purges import kill_purges
from tests.torture.kills.kill_scene import kill_private_memory, kill_scene
from tests.torture.kills.kill_storage import (
    kill_backups,
    kill_initdbs,
    kill_migrations,
    kill_migrations_of_chapters,
    kill_restores,
)
from tests.torture.kills.kill_takes import kill_takes
from tests.torture.kills.kill_typing import ROUNDS, kill_typing
from tests.torture.kills.kill_unstored import kill_unstored
from tests.torture.queue.rules import LEVELS
from tests.torture.queue.run import FULL, torture_queue
from tests.torture.soak import soak

FULL_KILLS = 18
FULL_OPERATIONS = 16
FULL_MEMORY = 60
"""Points of the operations that withdraw memory or make it anew; each operation has its share."""
FULL_BESIDE = 120
"""Points of the operations of the engine room; each operation has its share."""
FULL_BANK = 120
"""Points of what is read for a memory bank, and of changes of its items."""
FULL_LIBRARY = 200
"""Points of what is stored in the library; each command has its share."""
FULL_RUNS = 120
FULL_COPIES = 40
"""Chapters of random changes of canon with save slots, branches and exports."""
FULL_SOAK = 5_000
FULL_CHAPTERS = 8_000
IN_MEMORY_TO_STORED = 50
"""Chapters played in memory for each one that two windows play on a server, which takes longer."""
"""Each is followed by a part of the next one, and has four times the inputs that it has alone."""
_COUNTS = re.compile(r"(\d+) (passed|failed|skipped|error)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The size of a run: 1.0 is everything, less is a share of it, drawn by the seed."""

    seed: int
    length: float

    def share(self, whole: int) -> int:
        """Return that share of a whole, and at least one."""
        return max(1, round(whole * self.length))


@dataclass(slots=True)
class Found:
    """Results of a phase: figures by name, and nothing else; a fault is raised."""

    counts: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, **counts: float) -> "Found":
        """Add to the figures."""
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        return self


Phase = Callable[[Wanted], Found]


def _killed(figures: KillFigures) -> Found:
    assert not figures.unreached, f"points that were never reached: {figures.unreached}"
    return Found().add(
        kills=len(figures.killed),
        kill_steps=len({point.step for point in figures.killed}),
        program_runs=figures.runs,
        looks=figures.looks,
        rows_seen_again=figures.rows_seen_again,
        confirmed_characters=figures.characters,
        lost_characters=figures.lost,
        typed_characters=figures.typed,
        lost_typed_characters=figures.typed_lost,
    )


def play_part(part: int, parts: int) -> Phase:
    """Return the phase that kills at every step of a play, one of so many parts of the points."""

    def phase(wanted: Wanted) -> Found:
        points = all_points(wanted.seed)
        points = points[: wanted.share(len(points))]
        found = _killed(play_and_kill(points[part::parts], wanted.seed + part))
        # Both parts know all steps; counted once.
        found.counts["kill_steps"] = len({point.step for point in points}) if part == 0 else 0
        return found

    return phase


def long_chapters(wanted: Wanted) -> Found:
    """Kill at the early summaries of a long chapter, and at the prompts that go with shortened texts."""
    points = all_points(wanted.seed, is_long=True)
    return _killed(play_and_kill(points[: wanted.share(len(points))], wanted.seed, is_long=True))


def condensed_memory(wanted: Wanted) -> Found:
    """Kill while old memory is told again in fewer words."""
    points = all_points(wanted.seed, is_condensing=True)
    return _killed(play_and_kill(points[: wanted.share(len(points))], wanted.seed, is_condensing=True))


def on_machine(*works: tuple[Callable[..., None], int | None]) -> Phase:
    """Return the phase that kills in these works, each with so many points; None: at all there are."""

    def phase(wanted: Wanted) -> Found:
        found = Found()
        for work, whole in works:
            with machine() as home:
                torturer = Torturer(home, wanted.seed)
                if whole is None:
                    work(torturer, None if wanted.length >= 1 else wanted.share(24))
                else:
                    work(torturer, wanted.share(whole))
                found.add(**_killed(torturer.close()).counts)
        return found

    return phase


def first_starts(wanted: Wanted) -> Found:
    """Kill first starts."""
    return _killed(kill_initdbs(wanted.seed, wanted.share(FULL_KILLS)))


def leaks(wanted: Wanted) -> Found:
    """Play random chapters in which every text has a canary; none may reach the wrong reader."""
    chapters = wanted.share(FULL_CHAPTERS)
    seeds = range(wanted.seed, wanted.seed + chapters)
    stored = further = seeds[: max(1, chapters // IN_MEMORY_TO_STORED)]
    with private_server() as url:
        played = [
            asyncio.run(play_chapters(seeds)),
            asyncio.run(play_chapters(further, of=FurtherChapter)),
            asyncio.run(play_on_server(url, stored)),
        ]
    for found in played:
        assert not found.leaks, found.leaks[:20]
        assert not found.forgotten, found.forgotten[:20]
    return Found().add(
        leak_chapters=chapters + len(stored) + len(further),
        leak_inputs=sum(found.inputs for found in played),
        leak_tokens=sum(found.checked for found in played),
        leaks=0,
    )


def long_soak(wanted: Wanted) -> Found:
    """Play thousands of prompts in one process."""
    with (
        patch("core.engine.sync.session_writer.FIRST_BACKOFF_SECONDS", 0.002),
        patch("core.engine.sync.session_writer.MAX_BACKOFF_SECONDS", 0.01),
        warm_machine() as (_, url),
    ):
        figures = asyncio.run(soak(url, wanted.share(FULL_SOAK), wanted.seed))
    figures.check()
    early, late = figures.early, figures.late
    return Found().add(
        soak_prompts=figures.prompts,
        soak_model_faults=figures.model_faults,
        soak_store_faults=figures.store_faults,
        memory_early=early.resident,
        memory_late=late.resident,
        tasks_grown=late.tasks - early.tasks,
        descriptors_grown=late.descriptors - early.descriptors,
        connections_grown=late.connections - early.connections,
    )


def queue(wanted: Wanted) -> Found:
    """Let windows that are killed, closed and paused work off requests of all kinds in many chapters."""
    requests, troubles = wanted.share(FULL.requests), wanted.share(FULL.troubles)
    with plain_server() as server:
        size = replace(FULL, requests=requests, troubles=troubles)
        run, figures = asyncio.run(torture_queue(server.url, size, wanted.seed))
    waits = figures.longest_wait
    return Found().add(
        queue_requests=figures.requests,
        queue_kinds=len(figures.kinds),
        queue_chapters=FULL.chapters,
        queue_windows=FULL.windows,
        queue_takes=figures.takes,
        queue_calls=figures.calls,
        queue_put_back=figures.put_back,
        queue_failed=figures.failed,
        queue_dead=figures.dead,
        queue_kills=run.kills,
        queue_restarts=run.restarts,
        queue_pauses=run.pauses,
        queue_confirmed=figures.confirmed,
        queue_lost=figures.lost,
        **{f"queue_wait_{level}": waits[level] for level in LEVELS},
        queue_passed=max(figures.passed.values()),
    )


def tests_of(name: str, *files: str) -> Phase:
    """Return the phase that runs tests, all rows of their tables when everything is wanted."""

    def phase(wanted: Wanted) -> Found:
        kind = "full" if wanted.length >= 1 else "short"
        counts, _ = _pytest(files, {"STORYENGINE_TORTURE": kind})
        return Found().add(
            **{f"{name}_passed": counts["passed"], f"{name}_skipped": counts.get("skipped", 0)}
        )

    return phase


def random_play(wanted: Wanted) -> Found:
    """Drive the engine at random."""
    runs = {"STORYENGINE_RANDOM_RUNS": str(wanted.share(FULL_RUNS))}
    files = ("tests/torture/random_play/test_random_play.py", f"--hypothesis-seed={wanted.seed}")
    _, output = _pytest(files, runs)
    copies = {
        "STORYENGINE_RANDOM_RUNS": str(wanted.share(FULL_COPIES)),
        "STORYENGINE_RANDOM_SEED": str(wanted.seed),
    }
    _pytest(("tests/engine/copies/test_random_copies.py",), copies)
    [line] = [line for line in output.splitlines() if line.startswith("figures ")]
    figures = json.loads(line.removeprefix("figures "))
    return Found().add(**{f"random_{name}": count for name, count in figures.items()})


def _pytest(arguments: Collection[str], environment: dict[str, str]) -> tuple[dict[str, int], str]:
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", *arguments, "-o", "addopts=-q -p no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise AssertionError(ended.stdout[-8_000:] + ended.stderr[-2_000:])
    last = next(line for line in reversed(ended.stdout.splitlines()) if _COUNTS.search(line))
    return {what: int(count) for count, what in _COUNTS.findall(last)}, ended.stdout


PHASES: dict[str, Phase] = {
    "play-1": play_part(0, 2),
    "play-2": play_part(1, 2),
    "storage faults": tests_of(
        "storage",
        "tests/engine/faults/test_refused_access.py",
        "tests/engine/faults/test_storage_faults.py",
        "tests/engine/faults/test_storage_trouble.py",
        "tests/engine/scene/test_player_scene.py",
        "tests/tui/shell/test_outages.py",
        "tests/tui/shell/test_storage_faults_on_screen.py",
        "tests/store/embedded/test_embedded_watchdog.py",
        "tests/core/engine/sync/test_clock_set_back.py",
        "tests/tui/screens/chapter/test_autosave.py",
    ),
    "model faults": tests_of(
        "model",
        "tests/engine/faults/test_model_faults.py",
        "tests/tui/screens/play/test_model_fault_banners.py",
    ),
    "random keys": tests_of(
        "keys", "tests/tui/shell/test_random_keys.py", "tests/e2e/terminal/test_random_terminal_keys.py"
    ),
    "restores and typing": on_machine((kill_restores, None), (kill_typing, len(ROUNDS))),
    "random play": random_play,
    "soak": long_soak,
    "queue": queue,
    "leaks": leaks,
    "long chapters": long_chapters,
    "condensed memory": condensed_memory,
    "corrections, test calls and takes": on_machine(
        (kill_corrections, None), (kill_test_calls, None), (kill_takes, FULL_OPERATIONS)
    ),
    "takes and memory": on_machine((kill_memory, FULL_MEMORY)),
    "who knows what": on_machine((kill_scene, None), (kill_private_memory, None)),
    "library": on_machine((kill_library, FULL_LIBRARY)),
    "memory bank": on_machine((kill_bank, FULL_BANK)),
    "engine room": on_machine((kill_beside, FULL_BESIDE), (kill_unstored, None)),
    "commands and resets": on_machine(
        (kill_commands, FULL_OPERATIONS), (kill_resets, FULL_OPERATIONS), (kill_purges, None)
    ),
    "migrations and backups": on_machine(
        (kill_migrations, None), (kill_migrations_of_chapters, None), (kill_backups, None)
    ),
    "first starts": first_starts,
    "backups across time": tests_of(
        "backup", "tests/store/backups/test_older_backups.py", "tests/store/backups/test_backup.py"
    ),
}
"""In the order in which they begin: the longest first, so that two cores end together."""


def run_phase(name: str, wanted: Wanted, file: Path) -> None:
    """Run one phase in this process, and write what it found."""
    began = time.monotonic()
    found = PHASES[name](wanted)
    found.seconds = time.monotonic() - began
    file.write_text(json.dumps(asdict(found)))
