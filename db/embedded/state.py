"""What the supervisor tells the clients: one small file in the server's home, replaced as a whole."""

import dataclasses
import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

STATE_FILE = "state.json"


class Phase(StrEnum):
    """Where the server is in its life."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ServerState:
    """The last word of the supervisor."""

    phase: Phase = Phase.STOPPED
    pid: int = 0
    """Process of the server."""
    supervisor: int = 0
    """Process that owns it."""
    version: str = ""
    data: str = ""
    socket_dir: str = ""
    notice: str = ""
    """What the user should know about how the server runs; empty when there is nothing special."""
    message: str = ""
    hint: str = ""

    @classmethod
    def read(cls, home: Path) -> Self:
        """Return what is written, or the default when there is nothing that can be read."""
        try:
            found: dict[str, Any] = json.loads((home / STATE_FILE).read_text(encoding="utf-8"))
            return cls(**(found | {"phase": Phase(found["phase"])}))
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def write(self, home: Path) -> None:
        """Replace the file; a reader sees the old text or the new."""
        draft = home / f"{STATE_FILE}.new"
        draft.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")
        os.replace(draft, home / STATE_FILE)

    @staticmethod
    def forget(home: Path) -> None:
        """Remove the file, so that an old word is not taken for a new one."""
        (home / STATE_FILE).unlink(missing_ok=True)
