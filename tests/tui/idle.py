"""Wait until the event loop has nothing left to do, in place of watching how busy the process is."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

SOON = 0.02
"""Seconds: a timer that is due by then is waited for, as a frame that is about to be painted."""
_POLL = 0.001
"""Seconds between two looks at work in a thread."""
_in_threads: set[asyncio.Future[Any]] = set()
"""What the loops of this process have given to threads, and is not done."""


async def wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Return once no callback is ready, no thread works for the loop and no timer is due soon.

    It stands in for Textual's own function, which sleeps for 20 ms until less than 1 ms of processor time
    was used meanwhile. That is most of the time of a test, and a process that waits for a processor is idle
    to it. This one waits for `max_sleep` at most.
    """
    loop: Any = asyncio.get_running_loop()
    end = loop.time() + max_sleep
    while loop.time() < end:
        await asyncio.sleep(0)
        # Private: nothing public tells what a loop has to do.
        if loop._ready:
            continue
        if _in_threads:
            await asyncio.sleep(_POLL)
            continue
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=None)
        if due is None or due > loop.time() + SOON:
            return
        await asyncio.sleep(max(0.0, due - loop.time()))


@contextmanager
def idle_known_by_the_loop() -> Iterator[None]:
    """Have Textual wait so, for as long as the block lasts."""
    run: Callable[..., Any] = asyncio.BaseEventLoop.run_in_executor

    def run_in_executor(self: Any, *arguments: Any) -> Any:
        made = run(self, *arguments)
        _in_threads.add(made)
        made.add_done_callback(_in_threads.discard)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.BaseEventLoop, "run_in_executor", run_in_executor)
        patch.setattr("textual.app.wait_for_idle", wait_for_idle)
        patch.setattr("textual.pilot.wait_for_idle", wait_for_idle)
        yield
