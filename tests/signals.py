"""Signal handling of programs that tests start, however the run of the tests itself was started."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

# Python ignores these by itself, and subprocess gives them back to what it starts.
_OF_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}


@contextmanager
def default_signals_in_children() -> Iterator[None]:
    """Start programs that obey every signal, also where this process ignores some.

    A shell has a job in the background ignore SIGINT and SIGQUIT, nohup has it ignore SIGHUP. A program
    that is started inherits that, but no handler: so a handler that does nothing takes its place.
    """
    ignored = ignored_signals()
    for number in ignored:
        signal.signal(number, _do_nothing)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def ignored_signals() -> list[int]:
    """Return what this process ignores, and Python does not by itself."""
    return [
        number for number in signal.valid_signals() - _OF_PYTHON if signal.getsignal(number) is signal.SIG_IGN
    ]


def _do_nothing(number: int, frame: object) -> None:
    pass


@contextmanager
def ignoring(number: signal.Signals) -> Iterator[None]:
    """Start programs that ignore a signal, as nohup does with SIGHUP."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)
