"""All runs of the screen, program and floor in turns, so that what else the machine does falls on both."""

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.screen.stage import prepare
from bench.screen.staying import play_on, stay_idle
from bench.screen.visits import (
    Samples,
    visit_blank,
    visit_floor,
    visit_floor_start,
    visit_long,
    visit_open,
    visit_start,
)

STARTS = 4
"""Starts in each run: on a shared machine those of the same program differ by a tenth and more."""


class Plan(NamedTuple):
    """Amounts to measure."""

    runs: int
    keys: int
    prompts: int
    replies: int
    idle: float
    huge: int
    """Prompts of the chapter that is as long as anybody may ever write."""


FULL = Plan(runs=10, keys=23, prompts=500, replies=1_000, idle=60.0, huge=50_000)
QUICK = Plan(runs=2, keys=13, prompts=500, replies=20, idle=5.0, huge=2_000)


def measure_screen(samples: Samples, plan: Plan) -> None:
    """Do everything of `plan`; what fails is among the failures of `samples`."""
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        home, runs = Path(folder) / "home", plan.runs
        stage = prepare(home, prompts=plan.prompts, longs=2 * runs + 1, blank=runs, huge=plan.huge)
        visited, played = stage.longs[1 : runs + 1], stage.longs[runs + 1 :]
        try:
            for run in range(runs):
                print(f"screen: run {run + 1} of {runs}", file=sys.stderr)
                samples.attempt("the floor", lambda: visit_floor(samples, stage, keys=plan.keys))
                for _ in range(STARTS):
                    samples.attempt("the floor", lambda: visit_floor_start(samples, stage))
                    samples.attempt("the server", stage.wait_until_stopped)
                    samples.attempt("a start", lambda: visit_start(samples, stage))
                samples.attempt(
                    "the long chapter", partial(visit_long, samples, stage, visited[run], keys=plan.keys)
                )
                samples.attempt("opening", partial(visit_open, samples, stage, "long", stage.long))
                samples.attempt("opening", partial(visit_open, samples, stage, "huge", stage.huge))
                blank = stage.blank[run]
                samples.attempt("the empty chapter", partial(visit_blank, samples, stage, blank))
            print(f"screen: {runs} times {plan.idle:.0f} s of nothing", file=sys.stderr)
            samples.attempt("doing nothing", lambda: stay_idle(samples, stage, plan.idle, runs))
            for run, session in enumerate(played):
                print(f"screen: {plan.replies} replies, run {run + 1} of {runs}", file=sys.stderr)
                samples.attempt("many replies", partial(play_on, samples, stage, session, plan.replies))
        finally:
            samples.attempt("the end", stage.wait_until_stopped)
