"""What the program says to the terminal beside the screen, and what it does when the terminal is gone."""

import asyncio
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from textual.app import App

from core.text.cleaning import clean_line
from storyengine_tui.textual_ext.window_title import set_window_title

WATCH_SECONDS = 2.0
"""How often is looked whether the terminal is still there."""


class Terminal:
    """The window's title, and the end of the program when the connection to the terminal is lost."""

    def __init__(self, app: App[None], leave: Callable[[], None]) -> None:
        self._app = app
        self._leave = leave

    def tell_of_reply(self, replier: str, title: str, *, rings: bool) -> None:
        """Say in the window's frame who has answered, and ring when the GM wants that."""
        self.set_title(f"{replier} has answered · {title}")
        if rings:
            self._app.bell()

    def set_title(self, title: str) -> None:
        """Show `title` in the window's frame, where the terminal has one."""
        set_window_title(self._app, clean_line(title)[:120])

    def note_hang_up(self) -> None:
        """A dropped line or a polite kill ends the program as Ctrl+Q does: stored, settled, closed."""
        if self._app.is_headless:
            return
        self._app.set_interval(WATCH_SECONDS, self._leave_when_gone)
        if sys.platform == "win32":
            return
        loop = asyncio.get_running_loop()
        for sent in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(sent, self._leave)

    def _leave_when_gone(self) -> None:
        """End at the end of file: without a hang-up signal nothing else detects it."""
        if self._is_gone():
            self._leave()

    def _is_gone(self) -> bool:
        if sys.platform == "win32" or sys.__stdin__ is None:
            return False
        with suppress(OSError, ValueError):
            watch = select.poll()
            watch.register(sys.__stdin__.fileno(), 0)
            return bool(watch.poll(0))
        return True
