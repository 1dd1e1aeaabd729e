"""One visit to a program in a window: started, typed into, moved about in; each adds to the samples."""

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from bench.screen.stage import FLOOR, MEMORY_FLOOR, PACES, PROGRAM, ROOT, Stage, bare_environment, last_word
from bench.screen.window import COLUMNS, ROWS, NotShownError, Window
from core.domain.ids import SessionId

RARE = "QZXJKV"
"""Letters that no text of ours shows, so that a typed one is known by its sight."""
COMPOSER = "━ To "
OPEN = "End Chapter"
"""Shows once the chapter is open; what is typed earlier is echoed, and stands in the composer then."""
_START = 90.0


@dataclass
class Samples:
    """Measured values by name. What failed is kept in words, and printed with the table."""

    values: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, name: str, *values: float) -> None:
        """Add values of one run."""
        self.values.setdefault(name, []).extend(values)

    def median(self, name: str) -> float | None:
        """Return the median, if there is any value."""
        values = self.values.get(name)
        return statistics.median(values) if values else None

    def attempt(self, what: str, work: Callable[[], object]) -> None:
        """Do a part of the measuring; when it fails, say so and go on with the next."""
        try:
            work()
        except (NotShownError, OSError, subprocess.SubprocessError) as error:
            self.failures.append(f"{what}: {error}")


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by interpolation."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def visit_floor_start(samples: Samples, stage: Stage) -> None:
    """Start the floor, and leave as soon as it shows."""
    with Window(FLOOR, bare_environment(stage.home), cwd=ROOT) as window:
        painted = window.wait_for(lambda: _is_full(window))
        samples.add("floor first paint", painted - window.began)
        samples.add("floor first processor", window.processor_seconds())
        window.settle(0.2)
        window.leave("ctrl+q")


def visit_floor(samples: Samples, stage: Stage, *, keys: int) -> None:
    """Start the floor, type into it, resize it."""
    with Window(FLOOR, bare_environment(stage.home), cwd=ROOT) as window:
        window.wait_for(lambda: _is_full(window))
        window.settle(0.3)
        _type(samples, "floor", window, keys)
        samples.attempt("resizing the floor", lambda: _resize(samples, "floor resizing", window))
        window.leave("ctrl+q")
    with Window(MEMORY_FLOOR, bare_environment(stage.home), cwd=ROOT) as window:
        window.wait_for(lambda: _is_full(window))
        window.settle(1.0)
        samples.add("floor memory", window.resident())
        window.leave("ctrl+q")


def _is_full(window: Window) -> bool:
    """Whether there is a border at the right end of the last row."""
    return bool(window.screen.buffer[ROWS - 1][COLUMNS - 1].data.strip())


def start(stage: Stage, session_id: SessionId) -> Window:
    """Start the program on this chapter."""
    stage.choose(session_id)
    return Window([PROGRAM], stage.environment, cwd=stage.home)


class Ready(NamedTuple):
    """When the screen was full first, what that took of the processor, and when a key was echoed."""

    painted: float
    processor: float
    echoed: float


def ready(window: Window) -> Ready:
    """Return when the program shows its page and when a key is echoed in the composer."""
    painted = window.wait_for("^q Quit", _START)
    processor = window.processor_seconds()
    window.wait_for(COMPOSER, _START)
    # A user who sees the composer types; what is not taken then is typed again.
    echoed = window.find_new(RARE[0])
    deadline = time.monotonic() + _START
    while True:
        window.press(RARE[0])
        with suppress(NotShownError):
            return Ready(painted, processor, window.wait_for(echoed, 0.05))
        if time.monotonic() > deadline:
            raise NotShownError(f"no key is echoed\n{window.text}")


def visit_start(samples: Samples, stage: Stage) -> None:
    """Start program and server, and leave as soon as it can be typed into."""
    with start(stage, stage.long) as window:
        painted, processor, echoed = ready(window)
        samples.add("warm first paint", painted - window.began)
        samples.add("warm first processor", processor)
        samples.add("warm ready", echoed - window.began)
        samples.add("warm open", window.wait_for(OPEN, _START) - window.began)
        window.settle(0.2)
        window.leave("ctrl+q")


def visit_open(samples: Samples, stage: Stage, name: str, session_id: SessionId) -> None:
    """Start the program where the server runs already, and leave as soon as the chapter is open."""
    with start(stage, session_id) as window:
        samples.add(f"{name} open", window.wait_for(OPEN, _START) - window.began)
        window.settle(0.2)
        window.leave("ctrl+q")


def visit_long(samples: Samples, stage: Stage, session_id: SessionId, *, keys: int) -> None:
    """Use the program on a long chapter, each on one of its own: type, move about, have replies streamed."""
    with start(stage, session_id) as window:
        painted, _, echoed = ready(window)
        samples.add("attached first paint", painted - window.began)
        samples.add("attached ready", echoed - window.began)
        samples.add("attached open", window.wait_for(OPEN, _START) - window.began)
        window.settle(1.0)
        samples.add("memory long", window.resident())
        samples.attempt("typing", lambda: _type(samples, "long", window, keys))
        # Typed text is stored within a second; that is no part of the next figures.
        window.settle(1.3)
        for action, pressed in ACTIONS.items():
            samples.attempt(action, partial(_act, samples, action, window, pressed))
        samples.attempt("resizing", lambda: _resize(samples, "resizing", window))
        samples.attempt("streaming and typing", lambda: _type_while_streaming(samples, window))
        for pace in ("UNHURRIED", "HEADLONG"):
            samples.attempt(pace, partial(_stream, samples, "long", window, pace))
        window.leave("ctrl+q")


def visit_blank(samples: Samples, stage: Stage, session_id: SessionId) -> None:
    """Have a reply streamed where nothing stands yet."""
    with start(stage, session_id) as window:
        ready(window)
        window.wait_for(OPEN, _START)
        window.settle(1.0)
        samples.add("memory blank", window.resident())
        samples.attempt("streaming", lambda: _stream(samples, "blank", window, "UNHURRIED"))
        window.leave("ctrl+q")


ACTIONS = {
    "switching tabs": ("f4", "f3", "f2", "f3"),
    "switching panels": ("ctrl+n", "ctrl+n", "ctrl+n"),
    "scrolling a page": ("pageup", "pageup", "pagedown", "pagedown"),
}


def _type(samples: Samples, name: str, window: Window, keys: int) -> None:
    taken, sent = [], []
    for number in range(keys):
        letter = RARE[number % len(RARE)]
        window.settle(0.03)
        before, shows = window.total, window.find_new(letter)
        pressed = window.press(letter)
        echoed = window.wait_for(shows, 5)
        window.settle(0.03)
        # The first ones find caches empty.
        if number >= 3:
            taken.append(echoed - pressed)
            sent.append(float(window.total - before))
    samples.add(f"{name} key p50", percentile(taken, 50))
    samples.add(f"{name} key p95", percentile(taken, 95))
    samples.add(f"{name} key bytes", statistics.mean(sent))


def _act(samples: Samples, name: str, window: Window, keys: Sequence[str]) -> None:
    for key in keys:
        taken = window.stable_after(window.press(key))
        samples.add(name, taken)


def _resize(samples: Samples, name: str, window: Window) -> None:
    for size in ((COLUMNS - 20, ROWS - 6), (COLUMNS, ROWS)):
        samples.add(name, window.stable_after(window.resize(*size)))


def _ask(window: Window, pace: str) -> None:
    """Send a prompt that is answered at this pace, and return when the reply begins."""
    window.press(f" {pace} ")
    window.wait_for(pace)
    # What is typed is stored within a second; that is no part of the stream.
    window.settle(1.3)
    window.press("enter")
    window.wait_for("is writing")


def _stream(samples: Samples, name: str, window: Window, pace: str) -> None:
    tokens, rate = PACES[pace]
    window.press(f" {pace} ")
    window.wait_for(pace)
    window.settle(1.3)
    before, processor = window.total, window.processor_seconds()
    window.press("enter")
    # Recorded first and parsed later: the parser takes the processor that the program needs.
    time.sleep(tokens / rate)
    window.wait_for(lambda: last_word(pace) in window.shown and "is writing" not in window.shown)
    samples.add(f"{name} bytes at {rate}", (window.total - before) / tokens)
    samples.add(f"{name} processor at {rate}", (window.processor_seconds() - processor) / tokens * 1000)


def _type_while_streaming(samples: Samples, window: Window) -> None:
    tokens, rate = PACES["BRISK"]
    _ask(window, "BRISK")
    taken = []
    end = time.monotonic() + tokens / rate - 0.5
    number = 0
    while time.monotonic() < end:
        letter = RARE[number % len(RARE)]
        number += 1
        shows = window.find_new(letter)
        pressed = window.press(letter)
        taken.append(window.wait_for(shows, 5) - pressed)
        # Out of step with the frames.
        time.sleep(0.05 + 0.013 * (number % 5))
        window.settle(0)
    window.wait_for(lambda: last_word("BRISK") in window.shown and "is writing" not in window.shown)
    samples.add("streaming key p50", percentile(taken, 50))
    samples.add("streaming key p95", percentile(taken, 95))
