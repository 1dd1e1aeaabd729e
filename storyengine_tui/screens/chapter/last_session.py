"""Remembers the session that was open last, which the next start opens, and its composer panel."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self
from uuid import UUID

from core.config.files.bounded_file import read_bounded
from core.config.files.paths import Paths
from core.config.files.private_files import make_directory
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.text.cleaning import clean_line

if TYPE_CHECKING:
    from core.domain.session.session import Session

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LastPanel:
    """The composer panel that a session opens with."""

    slot: Slot
    name: str

    @classmethod
    def of(cls, session: "Session") -> Self | None:
        """Return the panel of a session that is being played; None for other sessions."""
        if not session.state.is_played:
            return None
        return cls(session.next_slot, clean_line(session.name_of(session.next_slot)))


def read_last_session(paths: Paths) -> SessionId | None:
    """Return the session that was open last on this machine; None if that is unknown."""
    with suppress(OSError, ValueError):
        return SessionId(UUID(read_bounded(last_file(paths)).decode("utf-8").partition("\n")[0].strip()))
    return None


def read_last_panel(paths: Paths) -> LastPanel | None:
    """Return the panel that the last session opens with; None if that is unknown."""
    from core.domain.session.limits import Limits

    with suppress(OSError, ValueError):
        _, line, *_ = read_bounded(last_file(paths)).decode("utf-8").split("\n")
        number, _, name = line.partition(" ")
        # Ignore a name over the limit: laying it out would delay the first paint.
        if len(name) <= Limits().name:
            return LastPanel(Slot(int(number)), clean_line(name))
    return None


def write_last_session(paths: Paths, session_id: SessionId, panel: LastPanel | None = None) -> None:
    """Remember the session; if the file cannot be written, the next start opens the one played last."""
    line = "" if panel is None else f"{int(panel.slot)} {panel.name}\n"
    try:
        make_directory(paths.data)
        last_file(paths).write_text(f"{session_id}\n{line}", "utf-8")
    except OSError as error:
        log.warning("the last session cannot be remembered: %s", error)


def last_file(paths: Paths) -> Path:
    """Return the file, which is written when a chapter is opened and when it is left."""
    return paths.data / "last-session"
