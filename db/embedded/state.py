"""The state that the supervisor reports to clients, in one small file that is replaced atomically."""

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Self

from core.config.files.bounded_file import read_bounded

STATE_FILE = "state.json"


class Phase(StrEnum):
    """The phases of the server's life."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    FAILED = "failed"


class ServerState(NamedTuple):
    """The last report of the supervisor."""

    phase: Phase = Phase.STOPPED
    pid: int = 0
    """Process number of the server."""
    supervisor: int = 0
    """Process number of the supervisor."""
    version: str = ""
    data: str = ""
    socket_dir: str = ""
    notification: str = ""
    """An unusual way in which the server runs, as a sentence for the user; empty otherwise."""
    message: str = ""
    hint: str = ""

    @classmethod
    def read(cls, home: Path) -> Self:
        """Return the stored state, or the default when the file is missing or unreadable.

        The supervisor may be that of an earlier or a later program, with fields that this one does not have.
        """
        try:
            found: dict[str, Any] = json.loads(read_bounded(home / STATE_FILE))
            known = {name: found[name] for name in cls._fields if name in found}
            return cls(**(known | {"phase": Phase(found["phase"])}))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return cls()

    def write(self, home: Path) -> None:
        """Replace the file atomically: a reader sees the old state or the new."""
        draft = home / f"{STATE_FILE}.new"
        draft.write_text(json.dumps(self._asdict()), encoding="utf-8")
        os.replace(draft, home / STATE_FILE)

    @staticmethod
    def forget(home: Path) -> None:
        """Remove the file, so that an old report is not read as a new one."""
        (home / STATE_FILE).unlink(missing_ok=True)
