"""The title of the terminal window, its bell, and quitting when the terminal is gone."""

import asyncio
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from textual.app import App

from core.text.cleaning import clean_line
from storyengine_tui.textual_ext.terminal.unix_driver import set_window_title

WATCH_SECONDS = 2.0
"""Seconds between two checks that the terminal is still there."""


class Terminal:
    """The window's title, and the end of the program when the connection to the terminal is lost."""

    def __init__(self, app: App[None], leave: Callable[[], None]) -> None:
        self._app = app
        self._leave = leave

    def tell_of_reply(self, replier: str, title: str, *, rings: bool) -> None:
        """Show in the window's title who has answered, and ring the bell if the GM wants that."""
        self.set_title(f"{replier} has answered · {title}")
        if rings:
            self._app.bell()

    def set_title(self, title: str) -> None:
        """Show `title` as the window's title, where the terminal has one."""
        set_window_title(self._app, clean_line(title)[:120])

    def note_hang_up(self) -> None:
        """Quit as Ctrl+Q does when the connection is lost or the process is told to end."""
        if self._app.is_headless:
            return
        self._app.set_interval(WATCH_SECONDS, self._leave_when_gone)
        if sys.platform == "win32":
            return
        loop = asyncio.get_running_loop()
        for sent in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(sent, self._leave)

    def _leave_when_gone(self) -> None:
        """Quit at the end of file, which may come without a hang-up signal."""
        if sys.platform == "win32" or sys.__stdin__ is None:
            return
        with suppress(OSError, ValueError):
            watch = select.poll()
            watch.register(sys.__stdin__.fileno(), 0)
            if not watch.poll(0):
                return
        self._leave()
