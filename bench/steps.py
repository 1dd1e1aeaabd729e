"""Times each step of an event loop: while one runs, no key is read and nothing is painted."""

import asyncio
import asyncio.events
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

_LOOK_SECONDS: Final = 0.004
"""Time between two looks at where a long step is."""
_FRAMES: Final = 9
"""Innermost calls that are noted of a step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One callback that the loop ran."""

    seconds: float
    processor: float
    """Seconds of the processor; the rest was spent in waiting for another thread or program."""
    what: str
    where: tuple[str, ...] = ()
    """The calls that it was in, outermost first, as often as somebody looked."""


@dataclass
class Steps:
    """The steps of a loop in the process that measures, from `least` seconds on."""

    least: float = 0.01
    looks: bool = False
    """Whether a thread notes where a long step is, which makes all of it slower."""
    noted: list[Step] = field(default_factory=list)
    _began: float = 0.0
    _seen: list[str] = field(default_factory=list)

    def longest(self) -> Step:
        """Return the longest step that was noted; one of no time where none was."""
        return max(self.noted, key=lambda step: step.seconds, default=Step(0.0, 0.0, ""))

    @contextmanager
    def watched(self) -> Iterator["Steps"]:
        """Note the steps of every loop of this process for as long as the block lasts."""
        handles: Any = asyncio.events.Handle
        run: Callable[[asyncio.Handle], None] = handles._run
        loop_thread = threading.get_ident()
        has_ended = threading.Event()

        def timed(handle: asyncio.Handle) -> None:
            self._seen.clear()
            processor = time.thread_time()
            self._began = began = time.perf_counter()
            try:
                run(handle)
            finally:
                taken, self._began = time.perf_counter() - began, 0.0
                if taken >= self.least:
                    what = _told(handle)
                    step = Step(taken, time.thread_time() - processor, what, tuple(self._seen))
                    self.noted.append(step)

        def look() -> None:
            while not has_ended.wait(_LOOK_SECONDS):
                began = self._began
                frame = sys._current_frames().get(loop_thread)
                if began and time.perf_counter() - began >= self.least / 2 and frame is not None:
                    calls = traceback.extract_stack(frame)[-_FRAMES:]
                    self._seen.append(
                        " > ".join(f"{call.filename[-34:]}:{call.lineno} {call.name}" for call in calls)
                    )

        looking = threading.Thread(target=look, daemon=True)
        handles._run = timed
        if self.looks:
            looking.start()
        try:
            yield self
        finally:
            handles._run = run
            has_ended.set()


def _told(handle: asyncio.Handle) -> str:
    """Return what a callback belongs to: the coroutine of its task, or its own name."""
    callback: Any = getattr(handle, "_callback")  # noqa: B009  # private, and not known to the type checker
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        coroutine: Any = task.get_coro()
        return f"{task.get_name()}: {getattr(coroutine, '__qualname__', coroutine)}"
    return str(getattr(callback, "__qualname__", callback))
