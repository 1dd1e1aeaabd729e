"""Advisory file locks that the kernel releases when their process ends, however it ends."""

import contextlib
import errno
import os
import time
from pathlib import Path
from typing import Self

with contextlib.suppress(ImportError):  # absent on Windows, where find_binaries refuses with a sentence
    import fcntl

POLL_SECONDS = 0.01


class FileLock:
    """One open description of a lock file; closing it, or the death of the process, releases the lock."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_shared(self) -> bool:
        """Acquire a shared lock; return False when another holder has it exclusively."""
        return self._try(fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Acquire the exclusive lock; return False when another holder has it."""
        return self._try(fcntl.LOCK_EX)

    def wait_shared(self, deadline: float) -> bool:
        """Try for a shared lock until `deadline` (monotonic seconds); return whether it was acquired."""
        return self._wait(fcntl.LOCK_SH, deadline)

    def wait_exclusive(self, deadline: float) -> bool:
        """Try for the exclusive lock until `deadline` (monotonic seconds); return whether it was acquired."""
        return self._wait(fcntl.LOCK_EX, deadline)

    def release(self) -> None:
        """Release the lock and keep the file open."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the lock and close the file; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True

    def _wait(self, kind: int, deadline: float) -> bool:
        while not self._try(kind):
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_locked(path: Path) -> bool:
    """Return whether another open description holds the lock exclusively; nothing is created."""
    if not path.exists():
        return False
    with FileLock(path) as lock:
        return not lock.try_shared()
