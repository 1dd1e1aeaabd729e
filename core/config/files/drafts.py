"""Hidden files that are written before they get their names, each locked as long as its writer lives.

The kernel releases the lock of a writer that was killed: the next draft of its name removes what it left.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

with suppress(ImportError):  # Absent on Windows, which the program does not run on.
    import fcntl

_RANDOM = "[a-z0-9_]" * 8
"""The letters that `mkstemp` puts into a name."""


@contextmanager
def locked_draft(folder: Path, prefix: str, suffix: str = "") -> Iterator[tuple[int, Path]]:
    """Yield a new empty file for its owner alone, open and locked, and remove it at the end; blocking.

    The receiver may rename it, and leaves it open. Raises OSError.
    """
    _remove_abandoned(folder, prefix, suffix)
    handle, file = _made(folder, prefix, suffix)
    try:
        yield handle, file
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


def move_to_free_name(draft: Path, target: Path) -> None:
    """Rename a draft, atomically if the file system has links, and never over another file; raise OSError."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:
        with target.open("xb"):
            pass
        try:
            os.replace(draft, target)
        except OSError:
            target.unlink(missing_ok=True)
            raise


def _made(folder: Path, prefix: str, suffix: str) -> tuple[int, Path]:
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        with suppress(OSError):  # a share of the network may have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(name), os.fstat(handle)):
                return handle, Path(name)
        os.close(handle)  # it was taken for abandoned before it was locked


def _remove_abandoned(folder: Path, prefix: str, suffix: str) -> None:
    pattern = f"{_literal(prefix)}{_RANDOM}{_literal(suffix)}"
    for file in folder.glob(pattern):
        with suppress(OSError):  # locked, or gone
            handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink()
            finally:
                os.close(handle)


def _literal(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)
