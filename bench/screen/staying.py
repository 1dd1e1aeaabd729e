"""Measures a running program: memory over many replies, the processor while it is idle."""

import re
import time
from functools import partial

from bench.screen.stage import FLOOR, ROOT, Stage, bare_environment
from bench.screen.visits import OPEN, Samples, ready, start
from bench.screen.window import Window
from bench.synthetic_sessions import PROMPT_WORDS, sentences
from core.domain.ids import SessionId

EARLY = 100
"""Replies after which memory is looked at first: caches are filled by then."""


def play_on(samples: Samples, stage: Stage, session: SessionId, replies: int) -> None:
    """Have so many replies in one run of the program, and see what they left in memory."""
    with start(stage, session) as window:
        ready(window)
        window.wait_for(OPEN)
        for number in range(1, replies + 1):
            mark = f"mark{number}."
            # As long as those that are there: the transcript's window would hold ever more of shorter ones.
            window.paste(f"{mark} {sentences(PROMPT_WORDS, number)}")
            window.press("enter")
            asked = re.compile(rf"\d\) .*{re.escape(mark)}")
            window.wait_for(partial(_shows, window, asked))
            window.wait_for(lambda: "is writing" not in window.shown and "ummaris" not in window.shown)
            if number == min(EARLY, replies // 2):
                samples.add("memory early", window.resident())
            if number == replies // 2:
                samples.add("memory half", window.resident())
        window.settle(1.5)
        samples.add("memory after", window.resident())
        window.leave("ctrl+q")


def stay_idle(samples: Samples, stage: Stage, seconds: float, times: int) -> None:
    """Have both programs open with nobody typing, for so many seconds so many times."""
    with Window(FLOOR, bare_environment(stage.home), cwd=ROOT) as floor, start(stage, stage.long) as window:
        ready(window)
        window.wait_for(OPEN)
        window.settle(2)
        for _ in range(times):
            before = floor.processor_seconds(), window.processor_seconds()
            time.sleep(seconds)
            samples.add("floor idle processor", (floor.processor_seconds() - before[0]) / seconds * 100)
            samples.add("idle processor", (window.processor_seconds() - before[1]) / seconds * 100)
        window.leave("ctrl+q")


def _shows(window: Window, asked: re.Pattern[str]) -> bool:
    return asked.search(window.shown) is not None
