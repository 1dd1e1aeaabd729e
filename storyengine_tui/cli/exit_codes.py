"""What the program's exit codes mean; they are documented in the README and do not change."""

from enum import IntEnum

from core.domain.errors import ErrorCode


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
    INTERRUPTED = 130


def exit_code_of(code: ErrorCode) -> ExitCode:
    """Return the exit code for an error that the GM was told of."""
    match code:
        case ErrorCode.CONSENT_REQUIRED:
            return ExitCode.CONSENT_REQUIRED
        case ErrorCode.SESSION_LOCKED:
            return ExitCode.SESSION_LOCKED
        case ErrorCode.ILLEGAL_COMMAND | ErrorCode.LIMIT_EXCEEDED:
            return ExitCode.REFUSED
        case ErrorCode.STORAGE_LOAD_FAILED | ErrorCode.STORAGE_SAVE_FAILED:
            return ExitCode.STORAGE_FAILED
        case _:
            return ExitCode.MODEL_FAILED
