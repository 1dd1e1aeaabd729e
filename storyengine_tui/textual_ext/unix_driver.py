"""Textual's driver of a Unix terminal, made hardier at both ends.

A terminal that goes away: what is written to it then is dropped, so that the program can end in order.
Textual writes in a thread; when that dies of an error, its queue fills up and the program stands still
for ever, with what was typed not stored. So the file below the thread never raises.

A terminal whose line cuts what is sent: see `storyengine_tui.textual_ext.paste_parser`.
"""

import os
import sys
from contextlib import suppress
from threading import current_thread
from typing import Any, TextIO, cast

from textual.driver import Driver


class HardyFile:
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


def hardy(driver_class: type[Driver]) -> type[Driver]:
    """Return `driver_class` with a file that never raises; as it is where it is not for a Unix terminal."""
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return driver_class
    from textual.drivers.linux_driver import LinuxDriver

    from storyengine_tui.textual_ext.paste_parser import PasteParser, read_terminal

    if driver_class is not LinuxDriver:
        return driver_class

    class HardyDriver(LinuxDriver):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            # Private, and Textual is pinned: the thread takes its file from here.
            self._file = cast(Any, HardyFile(cast(TextIO, self._file)))

        def run_input_thread(self) -> None:
            """Read the terminal as Textual does, but for pastes.

            A line that drops also sends SIGCONT, upon which Textual begins another thread. It waits for the
            newest alone and takes the word to end back then, so that the one before might never hear it.
            """
            thread = current_thread()
            read_terminal(
                self.fileno,
                PasteParser(self._debug),
                self.process_message,
                lambda: self.exit_event.is_set() or self._key_thread is not thread,
            )

    return HardyDriver
