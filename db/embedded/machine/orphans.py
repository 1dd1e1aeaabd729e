"""Cleans up after a killed server or installation: processes, a pid file, a socket."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from db.embedded.machine.directories import SOCKET_NAME
from db.embedded.machine.locks import POLL_SECONDS
from db.embedded.machine.probe import is_accepting, read_pid_file, server_processes

ORPHAN_PATIENCE = 10.0


def forget_stale_server(data: Path, socket_dir: Path) -> None:
    """Remove the pid file and the socket of a server of `data` that has ended.

    PostgreSQL does not start while any process has the number in `postmaster.pid` or in the socket's lock
    file: another program, as after a restart of the machine or of a container, or a zombie where no process
    reaps orphans. Either file may exist without the other. Only servers of `data` use `socket_dir`.
    """
    found = read_pid_file(data)
    if found and (sys.platform != "linux" or found.pid in server_processes(data)):
        return
    if is_accepting(socket_dir):
        return
    end_orphans(data)
    (data / "postmaster.pid").unlink(missing_ok=True)
    for directory in {socket_dir, found.socket_dir if found and found.socket_dir else socket_dir}:
        for leftover in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (directory / leftover).unlink(missing_ok=True)


def end_orphans(data: Path) -> None:
    """End the processes of a killed server: a busy backend would keep the next server from starting.

    A stopped process would too. It handles the pending SIGQUIT as soon as it is continued.
    """
    deadline = time.monotonic() + ORPHAN_PATIENCE
    while (orphans := server_processes(data)) and time.monotonic() < deadline:
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGQUIT)
                os.kill(pid, signal.SIGCONT)
        time.sleep(POLL_SECONDS)
