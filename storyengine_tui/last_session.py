"""Which session was open last, so that the next start opens it again."""

import logging
from contextlib import suppress
from uuid import UUID

from core.ids import SessionId
from core.paths import Paths
from core.private_file import make_directory

log = logging.getLogger(__name__)


def read_last_session(paths: Paths) -> SessionId | None:
    """Return the session that was open last on this machine, if that is known."""
    with suppress(OSError, ValueError):
        return SessionId(UUID((paths.data / "last-session").read_text("ascii").strip()))
    return None


def write_last_session(paths: Paths, session_id: SessionId) -> None:
    """Remember the session; where that cannot be written, the one played last is opened instead."""
    try:
        make_directory(paths.data)
        (paths.data / "last-session").write_text(f"{session_id}\n", "ascii")
    except OSError as error:
        log.warning("the last session cannot be remembered: %s", error)
