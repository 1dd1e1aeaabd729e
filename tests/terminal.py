"""A terminal to test in: a real program in a pseudo-terminal, its screen kept by pyte.

A thread reads what the program writes, as fast as the link that is asked for allows; the test waits for
what shows, never for time to pass.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

import pyte
from pyte.screens import Char

_LAST_WORDS_SECONDS = 2.0
PATIENCE = 60.0
"""Seconds that something on screen may take on a machine that is busy with other tests."""

# A session leader takes the terminal that it was given, then becomes the program.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_CHUNK = 65_536
_TICK = 0.02
"""Seconds between two reads on a slow link."""

KEYS = {
    "enter": "\r",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "escape": "\x1b",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f3": "\x1bOR",
    "f4": "\x1bOS",
    "f5": "\x1b[15~",
    "f6": "\x1b[17~",
    "f7": "\x1b[18~",
    "f8": "\x1b[19~",
    "f9": "\x1b[20~",
    **{f"ctrl+{letter}": chr(ord(letter) & 0x1F) for letter in "abcdefghjklnopqrstuvwxyz"},
}
"""What an xterm sends."""
OTHER_KEYS = {
    "screen": {"home": "\x1b[1~", "end": "\x1b[4~"},
    "tmux": {"home": "\x1b[1~", "end": "\x1b[4~"},
}
"""What others send instead, by the first word of TERM."""


class Size(NamedTuple):
    """Columns and rows."""

    columns: int
    rows: int


STANDARD = Size(80, 24)


class _Screen(pyte.Screen):
    """Remembers the bell."""

    bells = 0

    def bell(self, *args: object) -> None:
        self.bells += 1


class Running(Protocol):
    """A program that was started."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class Terminal:
    """One window with one program in it; leaving the `with` block ends the program."""

    def __init__(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        *,
        cwd: Path | None = None,
        size: Size = STANDARD,
        term: str = "xterm-256color",
        bytes_per_second: int | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.patience = patience
        self.screen = _Screen(size.columns, size.rows)
        self.received = bytearray()
        """Everything that the program wrote."""
        self._stream = pyte.ByteStream(self.screen)
        self._rate = bytes_per_second
        self._keys = KEYS | OTHER_KEYS.get(term.split("-")[0], {})
        self._changed = threading.Condition()
        self._is_over = False
        self._stop_reading, self._stopper = os.pipe()
        self._master, slave = pty.openpty()
        _set_size(slave, size)
        self.process = self._start(command, {**environment, "TERM": term}, cwd, slave)
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _start(
        self, command: Sequence[str | Path], environment: Mapping[str, str], cwd: Path | None, slave: int
    ) -> Running:
        """Start the program at this terminal."""
        return subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What shows

    @property
    def text(self) -> str:
        """The screen, line by line, without the blanks at the ends of lines."""
        with self._changed:
            return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def title(self) -> str:
        """The title of the window's frame."""
        with self._changed:
            return str(self.screen.title)

    def cells(self) -> list[Char]:
        """Return every cell of the screen, row by row."""
        with self._changed:
            rows = range(self.screen.lines)
            return [self.screen.buffer[y][x] for y in rows for x in range(self.screen.columns)]

    def cells_of(self, text: str) -> list[Char]:
        """Return the cells of the first place where `text`, of narrow characters, shows."""
        x, y = self.find(text)
        start = y * self.screen.columns + x
        return self.cells()[start : start + len(text)]

    def line(self, text: str) -> str:
        """Return the first line in which `text` shows; empty when it does not."""
        return next((line for line in self.text.split("\n") if text in line), "")

    def wait_for(self, wanted: str | Callable[[], object], patience: float | None = None) -> None:
        """Return once this text shows, or this holds; fail with the screen when time is up."""
        self._wait(_holds(self, wanted), _name(wanted), patience)

    def wait_while(self, unwanted: str | Callable[[], object], patience: float | None = None) -> None:
        """Return once this text does not show, or this does not hold, any more."""
        holds = _holds(self, unwanted)
        self._wait(lambda: not holds(), f"the end of {_name(unwanted)}", patience)

    def wait_for_end(self, patience: float = PATIENCE) -> int:
        """Return the exit status once the program has ended, and what it wrote last is read."""
        try:
            status = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {patience:.0f} s\n{self.text}") from None
        with self._changed:  # bounded: a child that outlives the program may hold the line
            self._changed.wait_for(lambda: self._is_over, _LAST_WORDS_SECONDS)
        return status

    def _wait(self, holds: Callable[[], object], what: str, patience: float | None) -> None:
        patience = self.patience if patience is None else patience
        deadline = time.monotonic() + patience
        with self._changed:
            while not holds():
                left = deadline - time.monotonic()
                if left <= 0 or self._is_over:
                    why = "the program ended" if self._is_over else f"not within {patience:.0f} s"
                    raise AssertionError(f"{why}: {what}\n{self.text}\n{self.explain()}")
                # What is waited for may be elsewhere than on the screen.
                self._changed.wait(min(left, 0.1))

    def explain(self) -> str:
        """Return what else is known of a program that did not do what was waited for."""
        return ""

    # What the user does

    def press(self, *keys: str) -> None:
        """Press keys by name, such as `f3`; a single character is itself."""
        self._write("".join(self._keys.get(key, key) for key in keys))

    def type(self, text: str) -> None:
        """Type a text; line breaks are Ctrl+J."""
        self._write(text)

    def paste(self, text: str) -> None:
        """Paste a text as a terminal does that knows bracketed paste."""
        self._write(f"\x1b[200~{text}\x1b[201~")

    def click(self, x: int, y: int, *, right: int = 0) -> None:
        """Click with the mouse, so many cells right of column `x`; the first column and row are 0."""
        self._write("".join(f"\x1b[<0;{x + right + 1};{y + 1}{end}" for end in "Mm"))

    def find(self, text: str) -> tuple[int, int]:
        """Return column and row of the first place where `text` shows, once it does.

        What the program paints at once may come in parts.
        """
        with self._changed:
            self.wait_for(text)
            lines = self.text.split("\n")
            return next((x, y) for y, line in enumerate(lines) if (x := line.find(text)) >= 0)

    def resize(self, size: Size) -> None:
        """Change the window's size."""
        with self._changed:
            self.screen.resize(size.rows, size.columns)
        _set_size(self._master, size)
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGWINCH)

    def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._master, data) :]

    # The ends

    def hang_up(self) -> None:
        """Close the window as a dropped line does: the kernel sends SIGHUP."""
        self._close_line()

    def kill(self) -> None:
        """Kill the program in the middle of its work."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End the program if it runs, and let go of the line."""
        if self.process.poll() is None:
            self.kill()
        self._close_line()

    def _close_line(self) -> None:
        if self._master < 0:
            return
        os.write(self._stopper, b"x")
        self._reader.join()
        for descriptor in (self._master, self._stop_reading, self._stopper):
            os.close(descriptor)
        self._master = -1

    # The line

    def _read(self) -> None:
        most = _CHUNK if self._rate is None else max(1, int(self._rate * _TICK))
        while not self._is_asked_to_stop((self._master,)):
            try:
                data = os.read(self._master, most)
            except OSError:  # Linux: the program has closed its end.
                data = b""
            with self._changed:
                self.received += data
                self._is_over = not data
                # pyte takes `<` for the end of a sequence.
                self._stream.feed(data.replace(b"\x1b[<u", b""))
                self._changed.notify_all()
            if not data:
                return
            if self._rate is not None and self._is_asked_to_stop((), len(data) / self._rate):
                return

    def _is_asked_to_stop(self, lines: Iterable[int], seconds: float | None = None) -> bool:
        """Wait for the line, or for so long; return whether the reading is to end."""
        ready, _, _ = select.select([*lines, self._stop_reading], [], [], seconds)
        return self._stop_reading in ready


def _set_size(descriptor: int, size: Size) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))


def _holds(terminal: Terminal, wanted: str | Callable[[], object]) -> Callable[[], object]:
    return (lambda: wanted in terminal.text) if isinstance(wanted, str) else wanted


def _name(wanted: str | Callable[[], object]) -> str:
    return repr(wanted) if isinstance(wanted, str) else getattr(wanted, "__name__", str(wanted))
