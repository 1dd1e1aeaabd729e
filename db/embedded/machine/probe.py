"""Checks whether a server runs, by its protocol, its pid file and its processes."""

import contextlib
import os
import socket
from pathlib import Path
from typing import NamedTuple

from db.embedded.machine.directories import SOCKET_NAME

PROC = Path("/proc")
_SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")
_SOCKET_LINE, _STATUS_LINE = 4, 7
_ANSWER_SECONDS = 2.0


def is_accepting(socket_dir: Path) -> bool:
    """Return whether a PostgreSQL server answers on the socket."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_ANSWER_SECONDS)
        client.connect(str(socket_dir / SOCKET_NAME))
        client.sendall(_SSL_REQUEST)
        return client.recv(1) in (b"N", b"S")
    return False


class PidFile(NamedTuple):
    """The content of `postmaster.pid`, which may be stale or half written."""

    pid: int
    socket_dir: Path | None
    is_ready: bool


def read_pid_file(data: Path) -> PidFile | None:
    """Return the content of a data directory's pid file, or None when it is missing or unreadable."""
    try:
        lines = (data / "postmaster.pid").read_text(errors="surrogateescape").splitlines()
        pid = int(lines[0])
    except (OSError, ValueError, IndexError):
        return None
    has_socket = len(lines) > _SOCKET_LINE and lines[_SOCKET_LINE]
    return PidFile(
        pid=pid,
        socket_dir=Path(lines[_SOCKET_LINE]) if has_socket else None,
        is_ready=len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready",
    )


def is_alive(pid: int) -> bool:
    """Return whether a process of this user with this number runs and is not a zombie."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    with contextlib.suppress(OSError, IndexError):
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def server_processes(data: Path) -> list[int]:
    """Return the PostgreSQL processes of this data directory; empty where there is no /proc."""
    pids = (int(entry.name) for entry in PROC.glob("[0-9]*"))
    return [pid for pid in pids if _is_server_process(pid, data)]


def _is_server_process(pid: int, data: Path) -> bool:
    try:
        is_server = os.path.basename(os.readlink(PROC / str(pid) / "exe")).startswith("postgres")
        return is_server and os.path.samefile(PROC / str(pid) / "cwd", data)
    except PermissionError:
        # Root in a container may read the arguments of other users' processes, but not their links.
        return _is_called_for(pid, data)
    except OSError:
        return False


def _is_called_for(pid: int, data: Path) -> bool:
    try:
        arguments = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.path.basename(arguments[0]) == b"postgres" and os.fsencode(data) in arguments
