"""What the supervisor tells the clients: one small file in the server's home, replaced as a whole."""

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Self

from core.config.bounded_file import read_bounded

STATE_FILE = "state.json"


class Phase(StrEnum):
    """Where the server is in its life."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    FAILED = "failed"


class ServerState(NamedTuple):
    """The last word of the supervisor."""

    phase: Phase = Phase.STOPPED
    pid: int = 0
    """Process of the server."""
    supervisor: int = 0
    """Process that owns it."""
    version: str = ""
    data: str = ""
    socket_dir: str = ""
    notification: str = ""
    """What the user should know about how the server runs; empty when there is nothing special."""
    message: str = ""
    hint: str = ""

    @classmethod
    def read(cls, home: Path) -> Self:
        """Return what is written, or the default when there is nothing that can be read."""
        try:
            found: dict[str, Any] = json.loads(read_bounded(home / STATE_FILE))
            return cls(**(found | {"phase": Phase(found["phase"])}))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return cls()

    def write(self, home: Path) -> None:
        """Replace the file; a reader sees the old text or the new."""
        draft = home / f"{STATE_FILE}.new"
        draft.write_text(json.dumps(self._asdict()), encoding="utf-8")
        os.replace(draft, home / STATE_FILE)

    @staticmethod
    def forget(home: Path) -> None:
        """Remove the file, so that an old word is not taken for a new one."""
        (home / STATE_FILE).unlink(missing_ok=True)
