"""Wait until the event loop has nothing left to do, in place of watching how busy the process is."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

SOON = 0.02
"""Seconds: a timer that is due by then is waited for, as a frame that is about to be painted."""
_LETTERS = {"space": " ", "full_stop": ".", "comma": ",", "question_mark": "?"}
"""Keys with names that type a letter; letters and digits are their own names."""
_POLL = 0.001
"""Seconds between two looks at work in a thread."""
_in_threads: set[asyncio.Future[Any]] = set()
"""What the loops of this process have given to threads, and is not done."""
_giving_way: set[object] = set()
"""Who waits below for a turn of the loop: each of them is a callback that is ready."""


async def nothing_ready(end: float, *, but_waits: bool = False) -> bool:
    """Let the loop do what it can do at once; whether it has done so by `end`, a time of the loop.

    With `but_waits`, other waits of this kind are not work: a frame comes before the test that waits for it.
    """
    loop: Any = asyncio.get_running_loop()
    waiter = object()
    while loop.time() < end:
        _giving_way.add(waiter)
        try:
            await asyncio.sleep(0)
        finally:
            _giving_way.discard(waiter)
        # Private: nothing public tells what a loop has to do.
        if len(loop._ready) <= (len(_giving_way) if but_waits else 0):
            return True
    return False


async def wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Return once no callback is ready, no thread works for the loop and no timer is due soon.

    It stands in for Textual's own function, which sleeps for 20 ms until less than 1 ms of processor time
    was used meanwhile. That is most of the time of a test, and a process that waits for a processor is idle
    to it. This one waits for `max_sleep` at most.
    """
    loop: Any = asyncio.get_running_loop()
    end = loop.time() + max_sleep
    while await nothing_ready(end):
        if _in_threads:
            await asyncio.sleep(_POLL)
            continue
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=None)
        if due is None or due > loop.time() + SOON:
            return
        await asyncio.sleep(max(0.0, due - loop.time()))


def _types_text(app: App[Any], keys: Sequence[str]) -> bool:
    """Whether all of these go as letters into the field in focus, which keeps the focus."""
    field = app.focused
    takes_text = isinstance(field, Input) or (isinstance(field, TextArea) and not field.read_only)
    return takes_text and all(key in _LETTERS or (len(key) == 1 and key.isalnum()) for key in keys)


def _is_busy(pump: MessagePump) -> bool:
    """Whether it may still be at work on a message: it does not wait for the next one."""
    return pump.is_running and not pump._message_queue.ready_event._waiters


@contextmanager
def idle_known_by_the_loop() -> Iterator[None]:
    """Have Textual wait so, for as long as the block lasts.

    A pilot sends no message to each widget of the screen, to hear from it that it has done what was sent
    before, unless some widget is still at work then. Letters that follow each other come as from a fast
    typist: only the last is waited for.
    """
    run: Callable[..., Any] = asyncio.BaseEventLoop.run_in_executor
    press = App._press_keys
    ask_all = Pilot._wait_for_screen

    def run_in_executor(self: Any, *arguments: Any) -> Any:
        made = run(self, *arguments)
        _in_threads.add(made)
        made.add_done_callback(_in_threads.discard)
        return made

    async def wait_for_screen(self: Pilot[Any], timeout: float = 30.0) -> bool:  # noqa: ASYNC109  # Textual's
        is_done = await nothing_ready(asyncio.get_running_loop().time() + timeout)
        app = self.app
        if not is_done or app._exception is not None or not app.screen_stack:
            return await ask_all(self, timeout)
        is_busy = any(map(_is_busy, [app, *app.screen.walk_children(with_self=True)]))
        return not is_busy or await ask_all(self, timeout)

    async def press_keys(self: App[Any], keys: Iterable[str]) -> None:
        pressed = [*keys]
        for number, key in enumerate(pressed):
            following = pressed[number + 1 : number + 2]
            if following and self._driver and _types_text(self, [key, *following]):
                letter = events.Key(key, _LETTERS.get(key, key))
                letter.set_sender(self)
                self._driver.send_message(letter)
            else:
                await press(self, [key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.BaseEventLoop, "run_in_executor", run_in_executor)
        patch.setattr("textual.app.wait_for_idle", wait_for_idle)
        patch.setattr("textual.pilot.wait_for_idle", wait_for_idle)
        patch.setattr(Pilot, "_wait_for_screen", wait_for_screen)
        patch.setattr(App, "_press_keys", press_keys)
        yield
