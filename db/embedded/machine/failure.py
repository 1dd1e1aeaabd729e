"""Failures of the private server, each as one sentence and a hint.

The supervisor cannot import `core`, so a failure is an `EmbeddedError` until `server.py` turns it into a
`StorageError`.
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

_HINTS = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space and start again; stored data is safe.")

_DEFAULT_HINT = "Set STORYENGINE_DATA_DIR to a directory that you can write to, or STORYENGINE_DATABASE_URL."
MAX_PATH_CHARS = 200
"""Characters of a path in a sentence; of a longer one the middle is left out."""


class EmbeddedError(Exception):
    """The private server cannot be used; `message` is one sentence, `hint` says what helps."""

    def __init__(self, message: str, hint: str = URL_HINT) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)


def explain_os_error(error: OSError, path: str | os.PathLike[str]) -> EmbeddedError:
    """Return an error of the operating system as a sentence about `path`."""
    where = os.fspath(error.filename or path)
    reason = _BY_ERRNO.get(error.errno or 0, error.strerror or "unknown reason")
    return EmbeddedError(
        f"The private database cannot use {_printable(where)}: {reason}.",
        _HINTS.get(error.errno or 0, _DEFAULT_HINT),
    )


def explain_output(program: str, output: str, path: str | os.PathLike[str]) -> EmbeddedError:
    """Return the error output of a PostgreSQL program as a sentence."""
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
    return lines[-1].rstrip(".") if lines else "it printed nothing"


def _printable(path: str | bytes) -> str:
    text = os.fsencode(path).decode("utf-8", "replace")
    if len(text) <= MAX_PATH_CHARS:
        return text
    return f"{text[: MAX_PATH_CHARS // 2]}…{text[-MAX_PATH_CHARS // 2 :]}"
