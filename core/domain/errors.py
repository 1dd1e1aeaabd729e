"""Errors for the GM: a `StoryEngineError` has a sentence and a hint; all others are bugs (design 8)."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TypeVar

from core.text.cleaning import clean

Made = TypeVar("Made")


class ErrorCode(StrEnum):
    """The kinds of error that are shown to the GM."""

    LLM_RATE_LIMITED = "LLM_RATE_LIMITED"
    LLM_TIMEOUT = "LLM_TIMEOUT"
    LLM_INVALID_JSON = "LLM_INVALID_JSON"
    LLM_TRUNCATED = "LLM_TRUNCATED"
    LLM_AUTH_ERROR = "LLM_AUTH_ERROR"
    LLM_SERVER_ERROR = "LLM_SERVER_ERROR"
    LLM_REQUEST_ERROR = "LLM_REQUEST_ERROR"
    LLM_CREDIT_EXHAUSTED = "LLM_CREDIT_EXHAUSTED"
    LLM_CONTENT_FILTERED = "LLM_CONTENT_FILTERED"
    LLM_CONTEXT_OVERFLOW = "LLM_CONTEXT_OVERFLOW"
    LLM_CANCELLED = "LLM_CANCELLED"
    LLM_ERROR = "LLM_ERROR"
    STORAGE_LOAD_FAILED = "STORAGE_LOAD_FAILED"
    STORAGE_SAVE_FAILED = "STORAGE_SAVE_FAILED"
    SESSION_LOCKED = "SESSION_LOCKED"
    ILLEGAL_COMMAND = "ILLEGAL_COMMAND"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    CONSENT_REQUIRED = "CONSENT_REQUIRED"
    CEILING_REACHED = "CEILING_REACHED"

    @property
    def sentence(self) -> str:
        """The error in one sentence for the GM: cause, consequence for the data, next step."""
        return SENTENCES[self]


SENTENCES: dict[ErrorCode, str] = {
    ErrorCode.LLM_RATE_LIMITED: (
        "The model's service asks us to slow down; nothing is lost, wait a moment and retry."
    ),
    ErrorCode.LLM_TIMEOUT: (
        "The model did not answer in time; nothing is lost, retry or raise the time-out in the settings."
    ),
    ErrorCode.LLM_INVALID_JSON: (
        "The model returned memory that could not be read, twice; the story is safe and memory is as it was, "
        "retry or choose a stronger model."
    ),
    ErrorCode.LLM_TRUNCATED: (
        "The model ran out of room before it had finished; nothing is lost, retry or raise its output cap."
    ),
    ErrorCode.LLM_AUTH_ERROR: (
        "The model's service refused the key; nothing is lost, set the right key and retry."
    ),
    ErrorCode.LLM_SERVER_ERROR: (
        "The model's service failed or could not be reached; nothing is lost, retry in a moment."
    ),
    ErrorCode.LLM_REQUEST_ERROR: (
        "The model's service did not accept the request; nothing is lost, "
        "check the model's name and settings."
    ),
    ErrorCode.LLM_CREDIT_EXHAUSTED: (
        "The account at the model's service has no credit left; nothing is lost, top it up and retry."
    ),
    ErrorCode.LLM_CONTENT_FILTERED: (
        "The model's service withheld the answer because of its content rules; nothing is lost, "
        "edit the text and retry."
    ),
    ErrorCode.LLM_CONTEXT_OVERFLOW: (
        "The input is longer than the model can read; nothing is lost, shorten the text "
        "or choose a model with a larger context."
    ),
    ErrorCode.LLM_CANCELLED: ("The call was stopped; your text is kept, and you can retry at any time."),
    ErrorCode.LLM_ERROR: "The model gave no usable answer; nothing is lost, retry.",
    ErrorCode.STORAGE_LOAD_FAILED: (
        "The database could not be read; nothing was changed, check that it runs and accepts the login, "
        "and try again."
    ),
    ErrorCode.STORAGE_SAVE_FAILED: (
        "The database could not be written; your text is kept here and is stored as soon as it is back."
    ),
    ErrorCode.SESSION_LOCKED: (
        "Another window writes in this chapter; it is read-only here until that window is closed."
    ),
    ErrorCode.ILLEGAL_COMMAND: "That is not possible now; nothing was changed.",
    ErrorCode.LIMIT_EXCEEDED: (
        "The text is longer than this field holds; nothing was cut, shorten it and try again."
    ),
    ErrorCode.CONSENT_REQUIRED: (
        "No text leaves this machine without your consent; nothing was sent, grant it once for this address."
    ),
    ErrorCode.CEILING_REACHED: (
        "This call could cost more than your ceiling allows; nothing was sent, raise the ceiling and retry."
    ),
}


class StoryEngineError(Exception):
    """An error that the GM can understand and act on.

    `message` is one sentence; `hint` names a command, a key or a setting that helps, and may be empty. Both
    may quote input, so they are cleaned of control sequences, also for tracebacks.
    """

    def __init__(self, code: ErrorCode, message: str = "", hint: str = "") -> None:
        self.code = code
        self.message = clean(message) or code.sentence
        self.hint = clean(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class IllegalCommandError(StoryEngineError):
    """A command that the state does not allow; the message says what to do instead (design 5)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(ErrorCode.ILLEGAL_COMMAND, message, hint)


class BookGoesOnError(IllegalCommandError):
    """A next chapter was asked for where there is one already; asked again, it goes in between."""

    def __init__(self, book: str, number: int) -> None:
        super().__init__(f"“{book}” goes on with chapter {number:,} already; no other one was begun.")


class UnreadPartsError(IllegalCommandError):
    """A next chapter was asked for while parts of this one are not read into its memory bank yet."""


class LimitExceededError(StoryEngineError):
    """A text that is longer than its field."""

    def __init__(self, field: str, length: int, limit: int) -> None:
        super().__init__(
            ErrorCode.LIMIT_EXCEEDED,
            f"The {field} has {length:,} characters, and {limit:,} fit; "
            "nothing was cut, shorten it and try again.",
        )


class SessionLockedError(StoryEngineError):
    """Another window is the writer of the session."""

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(ErrorCode.SESSION_LOCKED, message, hint)


class StorageError(StoryEngineError):
    """The store could not load or save; `is_transient` says whether a retry can help."""

    def __init__(
        self, code: ErrorCode, message: str = "", hint: str = "", *, is_transient: bool = True
    ) -> None:
        super().__init__(code, message, hint)
        self.is_transient = is_transient


class RowRefusedError(StorageError):
    """The data breaks a rule of the database; a retry fails as well."""

    def __init__(self, code: ErrorCode, hint: str = "") -> None:
        super().__init__(code, hint=hint, is_transient=False)


class ChangedElsewhereError(StorageError):
    """The stored data was changed or deleted in another window since it was read."""

    def __init__(self) -> None:
        super().__init__(
            ErrorCode.STORAGE_SAVE_FAILED,
            "It was changed or deleted elsewhere meanwhile; nothing was stored from here.",
            "Look at it again.",
            is_transient=False,
        )


def valid(made: Made, problems_of: Callable[[Made], Iterable[str]]) -> Made:
    """Return what the GM made; raise IllegalCommandError with the first of its problems, if it has any."""
    for problem in problems_of(made):
        raise IllegalCommandError(f"{problem} Nothing was saved.")
    return made
