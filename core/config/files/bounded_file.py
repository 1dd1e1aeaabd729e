"""Reading a file from outside with a bound, so that no file can fill the memory or block the process."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

LARGEST_SMALL_FILE: Final = 1_000_000
"""Bytes of a file of settings, consent or state; real ones have a few thousand."""


class FileTooLargeError(OSError):
    """A file with more bytes than may be read."""


def read_bounded(file: Path, most: int = LARGEST_SMALL_FILE) -> bytes:
    """Return what is in `file`; blocking. Raise OSError where it is unreadable or has more than `most` bytes.

    A pipe is read to its end, and is empty where no process writes to it. A directory, a socket and a device
    are refused.
    """
    with open_for_reading(file) as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise FileTooLargeError(errno.EFBIG, f"it is larger than {most:,} bytes", str(file))
    return content


@contextmanager
def open_for_reading(file: Path) -> Iterator[BinaryIO]:
    """Open a file or a pipe without waiting for its writer; raise OSError for anything else."""
    # With O_NONBLOCK the opening of a pipe without a writer returns at once.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    # `open` itself refuses a directory, and closes nothing then.
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, "it is not a regular file", str(file))
        os.set_blocking(handle, True)
        with open(handle, "rb", closefd=False) as opened:
            yield opened
    finally:
        os.close(handle)
