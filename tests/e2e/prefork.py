"""Programs that begin as a fork of a process which has imported everything already.

Most of the time of a short command is its import. All else is as at any start: a process of its own, with its
own environment, directory, streams, terminal, signals and end. What is about the start itself, about what
other processes see of it, or about what a library reads of the environment when it is imported, takes
`Machine.start_anew`.
"""

import atexit
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context, reduction
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self, TextIO

from tests.signals import ignored_signals

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    [__name__, "tests.e2e.everything", "tests.torture.kills.dying_program", "tests.torture.queue.window"]
)
PROGRAM = "storyengine_tui.cli"


@dataclass(frozen=True)
class Start:
    """Arguments, environment and files of a program that a shell starts."""

    words: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    ignored: Sequence[int]
    """Signals that it ignores, as one that was started by nohup does."""
    main: str
    """The module whose `main` is the program."""


class Forked:
    """A program that began so; for what the tests do with it, it is a `subprocess.Popen[str]`."""

    def __init__(
        self,
        words: Sequence[str | Path],
        environment: Mapping[str, str],
        directory: Path,
        *,
        terminal: int | None = None,
        output: int | None = None,
        main: str = PROGRAM,
    ) -> None:
        self.args = [str(word) for word in words]
        start = Start(self.args, dict(environment), directory, ignored_signals(), main)
        self.stdout: TextIO | None = None
        self.stderr: TextIO | None = None
        self._read: dict[str, str] = {}
        self._readers: list[Thread] = []
        streams = self._pipes() if terminal is None else [terminal] * 3
        passed = [_Passed(stream) for stream in streams]
        if output is not None:
            passed[1] = _Passed(output)
        self._process = FORKS.Process(target=_begin, args=(start, passed, terminal is not None))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        if terminal is None:
            for stream in streams:
                os.close(stream)

    def _pipes(self) -> list[int]:
        """Make the streams of a program without a terminal, and return its ends of them."""
        (output, to_output), (errors, to_errors) = os.pipe(), os.pipe()
        self.stdout, self.stderr = (os.fdopen(end, encoding="utf-8") for end in (output, errors))
        return [os.open(os.devnull, os.O_RDONLY), to_output, to_errors]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()

    @property
    def returncode(self) -> int:
        """Its exit status; less than nothing where a signal ended it. It has ended."""
        status = self.poll()
        assert status is not None, "it runs"
        return status

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit status once it has ended. Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return status

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return what it wrote, once it has ended. Raises subprocess.TimeoutExpired; then ask again."""
        if not self._readers:
            for name in ("stdout", "stderr"):
                self._readers.append(Thread(target=self._read_all, args=(name,), daemon=True))
                self._readers[-1].start()
        deadline = None if timeout is None else time.monotonic() + timeout
        for reader in self._readers:
            reader.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return self._read["stdout"], self._read["stderr"]

    def _read_all(self, name: str) -> None:
        with getattr(self, name) as stream:
            self._read[name] = stream.read()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


class _Passed:
    """A file descriptor that goes to another process with what is sent to it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self._number),)


def _received(passed: Any) -> int:
    return int(passed.detach())


def _begin(start: Start, streams: Sequence[int], has_terminal: bool) -> None:
    """Become the program."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in {*streams} - {0, 1, 2}:
        os.close(stream)
    if has_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in start.ignored:
        signal.signal(number, signal.SIG_IGN)
    os.chdir(start.directory)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    sys.path[:0] = [place for place in start.environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.argv = list(start.words)
    _open(0, "stdin", "r", "surrogateescape")
    _open(1, "stdout", "w", "surrogateescape", is_by_line=os.isatty(1))
    _open(2, "stderr", "w", "backslashreplace", is_by_line=True)
    try:
        import_module(start.main).main()
    finally:
        # A process that was forked does nothing at its end.
        atexit._run_exitfuncs()


def _open(number: int, name: str, mode: str, errors: str, *, is_by_line: bool = False) -> None:
    """Open a standard stream as Python does where the locale is C.UTF-8."""
    stream = open(  # noqa: SIM115 - it stays open to the end
        number, mode, 1 if is_by_line else -1, encoding="utf-8", errors=errors, closefd=False
    )
    vars(sys).update({name: stream, f"__{name}__": stream})
