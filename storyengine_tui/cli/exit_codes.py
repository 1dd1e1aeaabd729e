"""Exit codes of the program; they are documented in docs/command-line.md and do not change."""

from enum import IntEnum

from core.domain.errors import ErrorCode

STOPPED = "Stopped. Everything stored so far is safe; run the same command again."
"""The sentence about a program that Ctrl+C or a signal has ended."""


class ExitCode(IntEnum):
    """Why the program ended."""

    OK = 0
    BUG = 1
    USAGE = 2
    BAD_FILE = 3
    MODEL_FAILED = 4
    STORAGE_FAILED = 5
    SESSION_LOCKED = 6
    CONSENT_REQUIRED = 7
    REFUSED = 8
    CEILING_REACHED = 9
    INTERRUPTED = 130


_CODES = {
    ErrorCode.CONSENT_REQUIRED: ExitCode.CONSENT_REQUIRED,
    ErrorCode.CEILING_REACHED: ExitCode.CEILING_REACHED,
    ErrorCode.SESSION_LOCKED: ExitCode.SESSION_LOCKED,
    ErrorCode.ILLEGAL_COMMAND: ExitCode.REFUSED,
    ErrorCode.LIMIT_EXCEEDED: ExitCode.REFUSED,
    ErrorCode.STORAGE_LOAD_FAILED: ExitCode.STORAGE_FAILED,
    ErrorCode.STORAGE_SAVE_FAILED: ExitCode.STORAGE_FAILED,
}


def exit_code_of(code: ErrorCode) -> ExitCode:
    """Return the exit code for an error that the GM was told of."""
    return _CODES.get(code, ExitCode.MODEL_FAILED)
