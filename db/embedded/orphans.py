"""What a killed server or a killed installation left behind: processes, a pid file, a socket."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from db.embedded.directories import SOCKET_NAME
from db.embedded.probe import read_pid_file, server_processes

ORPHAN_PATIENCE = 10.0
POLL = 0.01


def forget_stale_pid_file(data: Path) -> None:
    """Remove a pid file whose number does not belong to the server of `data`, and what that server left.

    PostgreSQL refuses to start while anything has the number: another program, as after a restart of the
    machine or of a container, or a zombie, as where nobody reaps orphans.
    """
    found = read_pid_file(data)
    if found and (sys.platform != "linux" or found.pid in server_processes(data)):
        return
    end_orphans(data)
    (data / "postmaster.pid").unlink(missing_ok=True)
    if found and found.socket_dir:
        for leftover in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (found.socket_dir / leftover).unlink(missing_ok=True)


def end_orphans(data: Path) -> None:
    """End what a killed server left behind: a busy backend would keep the next server from starting."""
    deadline = time.monotonic() + ORPHAN_PATIENCE
    while (orphans := server_processes(data)) and time.monotonic() < deadline:
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGQUIT)
        time.sleep(POLL)
