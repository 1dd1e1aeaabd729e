"""Translates driver exceptions into errors of the program, with the cause kept (design 8)."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import errors
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from core.domain.errors import ErrorCode, RowRefusedError, SessionLockedError, StorageError, StoryEngineError

LOAD = ErrorCode.STORAGE_LOAD_FAILED
SAVE = ErrorCode.STORAGE_SAVE_FAILED
DEADLINE = 30.0
"""Time-out in seconds of any one call of the store."""
PATIENCE = 600.0
"""Time-out in seconds where a whole chapter is stored or deleted, which may have thousands of prompts."""

WRITER_GONE = "SE001"
NOT_ARCHIVED = "SE003"
READ_ONLY = "25006"
"""A connection opened while the server was read-only may stay read-only, and after a failover it may lead to
a standby. A new connection can succeed."""

# Connection failures, insufficient resources (a full disk), lost races, operator intervention, and failures
# of the operating system; a login, a database or a schema that is refused. The same statement may succeed
# later, or once the GM has repaired that.
_TRANSIENT_CLASSES = ("08", "53", "40", "57", "58", "28", "3D", "3F")
_ACCESS = ("42501", "42P01", "42703")
"""A right, a table or a column is missing. Where the right to the schema is, its tables do not exist."""
_TRANSIENT_STATES = ("55P03", READ_ONLY, "25P03", *_ACCESS)
_BROKEN_RULES = ("22", "23", "SE002")
"""Data exceptions, broken constraints, and refusals of our triggers."""

_NO_ROOM = os.strerror(errno.ENOSPC)

DRIVER_ERRORS = (DBAPIError, PoolTimeoutError, psycopg.Error, OSError, UnicodeEncodeError)
"""Exceptions of the drivers: their own, time-outs, dead sockets, and text that UTF-8 cannot encode."""


@asynccontextmanager
async def guarded(code: ErrorCode, *, seconds: float = DEADLINE) -> AsyncIterator[None]:
    """Run the block with a time-out, and raise errors of the driver as a StorageError with `code`."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except StoryEngineError:
        raise
    except DRIVER_ERRORS as error:
        raise translated(error, code) from error


def translated(error: BaseException, code: ErrorCode) -> StoryEngineError:
    """Return a driver's error as one for the GM."""
    cause = driver_error(error)
    if isinstance(cause, psycopg.Error):
        if cause.sqlstate == WRITER_GONE:
            return SessionLockedError(
                "Another window has taken over this chapter; nothing was stored from here."
            )
        if cause.sqlstate == NOT_ARCHIVED:
            return StorageError(
                code, "Only an archived chapter can be deleted; archive it first.", is_transient=False
            )
        if (cause.sqlstate or "").startswith(_BROKEN_RULES):
            return RowRefusedError(code, _hint(cause))
        return StorageError(code, hint=_hint(cause), is_transient=is_transient(cause))
    is_passing = isinstance(cause, OSError | PoolTimeoutError)
    return StorageError(code, hint=_hint(cause), is_transient=is_passing)


def driver_error(error: BaseException) -> BaseException:
    """Return the driver's own error inside SQLAlchemy's wrapping."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def is_transient(error: psycopg.Error) -> bool:
    """Whether the same statement may succeed later; each refusal of a connection is one without a state."""
    state = error.sqlstate
    if state is not None:
        return state.startswith(_TRANSIENT_CLASSES) or state in _TRANSIENT_STATES
    return isinstance(error, errors.OperationalError)


def is_lost_connection(error: BaseException) -> bool:
    """Whether the connection failed rather than the statement, so that a new one may succeed."""
    cause = driver_error(error)
    if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        state = cause.sqlstate
        return state is None or state.startswith("08") or state in ("57P01", "57P02", "57P03")
    return is_read_only(cause)


def is_undone(error: BaseException) -> bool:
    """Whether the server undid a transaction so that another could go on, and the same may succeed now."""
    cause = driver_error(error)
    return isinstance(cause, errors.DeadlockDetected | errors.SerializationFailure)


def is_read_only(error: BaseException) -> bool:
    """Whether the connection accepts no writes and should be replaced."""
    return isinstance(error, psycopg.Error) and error.sqlstate == READ_ONLY


def _hint(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "The database did not answer in time."
    # A server that has no room for the files of a new connection says so in the words of the system.
    if isinstance(error, errors.DiskFull) or _NO_ROOM in str(error):
        return "The disk of the database is full; make room and try again."
    if isinstance(error, psycopg.Error):
        said = error.diag.message_primary or str(error)
        return f"The database says: {said.splitlines()[0]}" if said else ""
    return ""
