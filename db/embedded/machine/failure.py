"""What can go wrong with the private server, as one sentence and a hint.

The supervisor cannot import `core`, so failures travel as an `EmbeddedError` and become a `StorageError` in
`server.py`.
"""

import errno
import os

URL_HINT = "Set STORYENGINE_DATABASE_URL to use a PostgreSQL server of your own."

_BY_ERRNO = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.ENAMETOOLONG: "the path is too long",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EIO: "the disk reports an input/output error",
}

_HINTS = {
    errno.ENOSPC: "Free some space and start again; what is stored is safe.",
    errno.EDQUOT: "Free some space and start again; what is stored is safe.",
}

_DEFAULT_HINT = "Set STORYENGINE_DATA_DIR to a directory that you can write to, or STORYENGINE_DATABASE_URL."


LONGEST_SHOWN = 200
"""Characters of a path in a sentence; a longer one is shown by its two ends."""


class EmbeddedError(Exception):
    """The private server cannot be used; `message` is one sentence, `hint` says what helps."""

    def __init__(self, message: str, hint: str = URL_HINT) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)


def explain_os_error(error: OSError, path: str | os.PathLike[str]) -> EmbeddedError:
    """Turn a refusal of the operating system into a sentence about `path`."""
    where = os.fspath(error.filename or path)
    reason = _BY_ERRNO.get(error.errno or 0, error.strerror or "unknown reason")
    return EmbeddedError(
        f"The private database cannot use {_printable(where)}: {reason}.",
        _HINTS.get(error.errno or 0, _DEFAULT_HINT),
    )


def explain_output(program: str, output: str, path: str | os.PathLike[str]) -> EmbeddedError:
    """Turn what a program of PostgreSQL wrote before it gave up into a sentence."""
    for number in _BY_ERRNO:
        if os.strerror(number) in output:
            return explain_os_error(OSError(number, os.strerror(number)), path)
    return EmbeddedError(f"The private database's {program} failed: {_last_complaint(output)}.")


def _last_complaint(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in reversed(lines):
        for level in ("FATAL:", "PANIC:", "error:"):
            if level in line:
                return line.partition(level)[2].strip().rstrip(".")
    return lines[-1].rstrip(".") if lines else "it said nothing"


def _printable(path: str | bytes) -> str:
    text = os.fsencode(path).decode("utf-8", "replace")
    return (
        text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN // 2]}…{text[-LONGEST_SHOWN // 2 :]}"
    )
