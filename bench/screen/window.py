"""A terminal that takes the time: what a program writes is stamped when it comes and looked at later.

A thread reads, stamps and answers the questions that programs ask their terminal; it never parses, so that
parsing delays no stamp. What was read is shown to pyte only when somebody asks what is on the screen.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pyte

COLUMNS, ROWS = 120, 40
PATIENCE = 60.0
"""Seconds that anything may take before it has failed."""
_PAINT_SECONDS = 5.0
"""Seconds that a screen may take to begin painting."""
_SILENCE = 0.12
"""Seconds without a chunk after which a screen is painted."""

KEYS = {
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "f2": "\x1bOQ",
    "f3": "\x1bOR",
    "f4": "\x1bOS",
    "ctrl+n": "\x0e",
    "ctrl+q": "\x11",
}
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_QUERY = re.compile(rb"\x1b\[(\??)([0-9;]*)(\$p|c|n|u)|\x1b\](1[01]);\?")
_NOT_FOR_PYTE = re.compile(
    rb"\x1b\[[<>=][0-9;:]*[ -/]*[@-~]"  # keyboard protocols
    rb"|\x1b\[\?[0-9;]*\$[a-z]"  # questions about modes
    rb"|\x1b\[[0-9;]*(?:t| q)"  # the window, the shape of the cursor
    rb"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, colours, links
    rb"|\x1b[P_^X][^\x1b]*\x1b\\",
    re.DOTALL,
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;:<>=?$ ]*|\][^\x07\x1b]*\x1b?|[P_^X][^\x1b]*\x1b?)?\Z", re.DOTALL)


class NotShownError(Exception):
    """Something did not come in time, or the program ended."""


class Chunk(NamedTuple):
    """Bytes of one read, and its time."""

    at: float
    data: bytes


class Window:
    """One program in a terminal of 120×40; leaving the `with` block ends it."""

    def __init__(
        self, command: Sequence[str | Path], environment: Mapping[str, str], *, cwd: Path | None = None
    ) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._tail = b""
        self._asked = b""
        self._chunks: list[Chunk] = []
        self._parsed = 0
        self._come = threading.Condition()
        self._is_over = False
        self.total = 0
        """Bytes that the program wrote."""
        self._master, slave = pty.openpty()
        _set_size(slave, COLUMNS, ROWS)
        self._stop_reading, self._stopper = os.pipe()
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            # -I -S: as little as possible before the program itself.
            [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What shows

    @property
    def text(self) -> str:
        """The screen as it is now."""
        self.settle(0)
        return self.shown

    def wait_for(self, holds: Callable[[], bool] | str, patience: float = PATIENCE) -> float:
        """Return when (by the clock `time.monotonic`) the chunk came after which this held.

        The condition is checked on the output parsed so far, then after every chunk; it may use `shown`, and
        not `text`.
        """
        if isinstance(holds, str):
            holds = partial(self._shows, holds)
        deadline = time.monotonic() + patience
        if self._parsed and holds():
            return self._chunks[self._parsed - 1].at
        while True:
            # A burst is read whole before it is parsed: parsing takes the processor from the program.
            self._wait_for_silence(0.008, 0.2)
            while self._parsed < len(self._chunks):
                if holds_after := self._parse_next(holds):
                    return holds_after
            left = deadline - time.monotonic()
            if left <= 0 or self._is_over:
                why = "the program ended" if self._is_over else f"not within {patience:.0f} s"
                raise NotShownError(f"{why}\n{self.shown}")
            self._wait_for_more(min(left, 0.25))

    def settle(self, silence: float, patience: float = PATIENCE) -> float:
        """Wait until nothing has come for so long, show everything, and return when the last chunk came."""
        self._wait_for_silence(silence, patience)
        while self._parsed < len(self._chunks):
            self._parse_next(lambda: False)
        return self._chunks[-1].at if self._chunks else self.began

    def stable_after(self, at: float) -> float:
        """Return the seconds from `at` to the last chunk that it caused; raise NotShownError if none came."""
        deadline = time.monotonic() + _PAINT_SECONDS
        while not self._chunks or self._chunks[-1].at <= at:
            left = deadline - time.monotonic()
            if left <= 0 or self._is_over:
                raise NotShownError(f"nothing was painted\n{self.shown}")
            self._wait_for_more(left, since=len(self._chunks))
        return self.settle(_SILENCE, _PAINT_SECONDS) - at

    def find_new(self, character: str) -> Callable[[], bool]:
        """Return what says whether `character` shows where it does not show now."""
        before = self._places(character)
        self.screen.dirty.clear()
        return lambda: bool(self._places(character, self.screen.dirty) - before)

    def _places(self, character: str, rows: set[int] | None = None) -> set[tuple[int, int]]:
        return {
            (y, x)
            for y in (range(ROWS) if rows is None else tuple(rows))
            for x, cell in self.screen.buffer[y].items()
            if cell.data == character
        }

    @property
    def shown(self) -> str:
        """The screen as far as it is parsed."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def _parse_next(self, holds: Callable[[], bool]) -> float:
        chunk = self._chunks[self._parsed]
        self._parsed += 1
        data = self._tail + chunk.data
        unfinished = _UNFINISHED.search(data)
        self._tail = unfinished.group() if unfinished else b""
        data = data[: len(data) - len(self._tail)]
        self._stream.feed(_NOT_FOR_PYTE.sub(b"", data))
        return chunk.at if holds() else 0.0

    # What the user does

    def press(self, *keys: str) -> float:
        """Press keys by name, or type characters; return when."""
        data = "".join(KEYS.get(key, key) for key in keys).encode()
        at = time.monotonic()
        os.write(self._master, data)
        return at

    def paste(self, text: str) -> float:
        """Paste a text, as a terminal says that it is pasted; return when."""
        return self.press(f"\x1b[200~{text}\x1b[201~")

    def click(self, text: str) -> None:
        """Click on the middle of a text on the screen."""
        for y, line in enumerate(self.text.split("\n"), 1):
            if text in line:
                x = line.index(text) + len(text) // 2 + 1
                self.press(f"\x1b[<0;{x};{y}M", f"\x1b[<0;{x};{y}m")
                return
        raise NotShownError(f"nothing to click on: {text}\n{self.shown}")

    def resize(self, columns: int, rows: int) -> float:
        """Change the window's size; return when."""
        self.settle(0)
        self.screen.resize(rows, columns)
        at = time.monotonic()
        _set_size(self._master, columns, rows)
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGWINCH)
        return at

    # What it takes

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    def processor_seconds(self) -> float:
        """Return the processor time of the program's own process, all its threads; Linux only."""
        # What clock_getcpuclockid gives: the clock of that process.
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def resident(self) -> int:
        """Return the resident memory of the program's own process in bytes; Linux only."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    # The ends

    def leave(self, *keys: str) -> None:
        """Press what ends the program, and wait for the end; kill it when it does not come."""
        self.press(*keys)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        self.close()

    def close(self) -> None:
        """End the program and everything it started in this terminal."""
        if self._master < 0:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
        os.write(self._stopper, b"x")
        self._reader.join(5)
        for descriptor in (self._master, self._stop_reading, self._stopper):
            os.close(descriptor)
        self._master = -1

    # The line

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._master, self._stop_reading], [], [])
            if self._stop_reading in ready:
                return
            try:
                data = os.read(self._master, 1 << 18)
            except OSError:  # Linux: the program has closed its end.
                data = b""
            at = time.monotonic()
            if data:
                self._answer(data)
            with self._come:
                self._is_over = not data
                if data:
                    self._chunks.append(Chunk(at, data))
                    self.total += len(data)
                self._come.notify_all()
            if not data:
                return

    def _answer(self, data: bytes) -> None:
        """Answer as a modern terminal does: it can hold back what is not whole (mode 2026)."""
        if b"\x1b" not in data:
            return
        asked = self._asked + data
        self._asked = b""
        answers = b""
        for found in _QUERY.finditer(asked):
            private, argument, final, colour = found.groups()
            if colour:
                answers += b"\x1b]" + colour + b";rgb:0000/0000/0000\x1b\\"
            elif final == b"$p":
                answers += b"\x1b[?" + argument + (b";2$y" if argument == b"2026" else b";0$y")
            elif final == b"c" and not private:
                answers += b"\x1b[?62;22c"
            elif final == b"n":
                answers += b"\x1b[1;1R" if argument == b"6" else b"\x1b[0n"
            elif final == b"u" and private:
                answers += b"\x1b[?0u"
        if answers:
            with suppress(OSError):
                os.write(self._master, answers)

    def _wait_for_more(self, seconds: float, since: int | None = None) -> None:
        known = self._parsed if since is None else since
        with self._come:
            self._come.wait_for(lambda: len(self._chunks) > known or self._is_over, seconds)

    def _wait_for_silence(self, silence: float, patience: float) -> None:
        deadline = time.monotonic() + patience
        while silence and not self._is_over and time.monotonic() < deadline:
            count = len(self._chunks)
            last = self._chunks[-1].at if count else self.began
            left = max(last, self.began) + silence - time.monotonic()
            if left <= 0:
                return
            with self._come:
                self._come.wait_for(partial(self._has_more_than, count), left)

    def _has_more_than(self, count: int) -> bool:
        return len(self._chunks) > count or self._is_over

    def _shows(self, text: str) -> bool:
        return text in self.shown


def _set_size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
