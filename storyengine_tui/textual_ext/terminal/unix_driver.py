"""Textual's Unix driver with two repairs, and the title of the terminal window (`Part.WINDOW_TITLE`).

`Part.RESILIENT_DRIVER`: output to a terminal that is gone is dropped, so that the program can end in order.
Textual writes in a thread; when that thread dies of an error, its queue fills up and the program hangs
before it has stored what was typed. So the file that the thread writes to never raises.

`Part.PASTE_PARSER`: pastes that the line splits are read as one text, see
`storyengine_tui.textual_ext.terminal.paste_parser`.
"""

import os
import sys
from contextlib import suppress
from threading import current_thread
from typing import Any, TextIO, cast

from textual.app import App
from textual.driver import Driver

from storyengine_tui.textual_ext.parts import Part, is_enabled


class ResilientFile:
    """A text file whose writes are dropped once its other end is gone."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write, or drop it."""
        with suppress(OSError, ValueError):
            return self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or drop it."""
        with suppress(OSError, ValueError):
            self._file.flush()


def resilient(driver_class: type[Driver]) -> type[Driver]:
    """Return `driver_class` with the repairs that are enabled; unchanged where it is not Textual's Unix
    driver."""
    has_file, has_parser = is_enabled(Part.RESILIENT_DRIVER), is_enabled(Part.PASTE_PARSER)
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER") or not (has_file or has_parser):
        return driver_class
    from textual.drivers.linux_driver import LinuxDriver

    if driver_class is not LinuxDriver:
        return driver_class

    class ResilientDriver(LinuxDriver):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            if has_file:
                # The writer thread takes its file from here.
                self._file = cast(Any, ResilientFile(cast(TextIO, self._file)))

        def _sigcont_application(self, *args: Any) -> None:
            """Resume the app too where it was stopped by SIGSTOP, as by a debugger or a shell."""
            self._must_signal_resume = True
            super()._sigcont_application(*args)

        def run_input_thread(self) -> None:
            """Read the terminal as Textual does, with a parser of our own for pastes.

            A line that drops also sends SIGCONT, and Textual then starts another input thread. Textual
            joins only the newest one and then clears the exit event, so an older thread could miss it.
            """
            if not has_parser:
                super().run_input_thread()
                return
            from storyengine_tui.textual_ext.terminal.paste_parser import PasteParser, read_terminal

            thread = current_thread()
            read_terminal(
                self.fileno,
                PasteParser(self._debug),
                self.process_message,
                lambda: self.exit_event.is_set() or self._key_thread is not thread,
            )

    return ResilientDriver


def set_window_title(app: App[Any], title: str) -> None:
    """Show `title`, which must be clean, as the window's title where the terminal has one."""
    if app.is_headless or not is_enabled(Part.WINDOW_TITLE):
        return
    driver = app._driver
    if driver is not None:
        driver.write(f"\x1b]2;{title}\x07")
