"""One running server process: started here, or found running and adopted."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from db.embedded.machine.binaries import Binaries, program_environment
from db.embedded.machine.cache_size import LEAST_MB, cache_settings
from db.embedded.machine.directories import PORT, SOCKET_NAME
from db.embedded.machine.failure import EmbeddedError
from db.embedded.machine.locks import POLL_SECONDS
from db.embedded.machine.probe import is_accepting, is_alive, read_pid_file, server_processes
from db.embedded.machine.run_as import RunAs

LOG_FILE = "postgres.log"
LOG_LIMIT = 1_000_000
"""Size in bytes from which a log is rotated at the next start."""
STOP_STEPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
"""Fast shutdown with a checkpoint, then immediate shutdown, then kill; the data survives each."""


class Postmaster:
    """The server process and the directory of its socket."""

    def __init__(self, pid: int, data: Path, socket_dir: Path, child: subprocess.Popen[bytes] | None) -> None:
        self.pid = pid
        self.data = data
        self.socket_dir = socket_dir
        self._child = child

    @classmethod
    def adopt(cls, data: Path) -> "Postmaster | None":
        """Return the server that an earlier supervisor left running, if it still answers."""
        found = read_pid_file(data)
        if found is None or found.socket_dir is None or not is_alive(found.pid):
            return None
        return cls(found.pid, data, found.socket_dir, None) if is_accepting(found.socket_dir) else None

    @classmethod
    def start(
        cls, run_as: RunAs, binaries: Binaries, socket_dir: Path, log: Path, cache_megabytes: int
    ) -> "Postmaster":
        """Start the server; it is not ready yet. Raises OSError and SubprocessError."""
        data = run_as.base / "data"
        arguments: list[str | Path] = [binaries.program("postgres"), "-D", data]
        settings = server_settings(socket_dir) | cache_settings(cache_megabytes, binaries.root / "lib")
        for name, value in settings.items():
            arguments += ["-c", f"{name}={value}"]
        if log.exists() and log.stat().st_size > LOG_LIMIT:
            os.replace(log, log.with_suffix(".old"))
        with log.open("ab") as output:
            child = run_as.start(arguments, program_environment(), output)
        return cls(child.pid, data, socket_dir, child)

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._child.poll() is None if self._child else is_alive(self.pid)

    def is_serving(self) -> bool:
        """Return whether it accepts connections; false during recovery."""
        found = read_pid_file(self.data)
        if found is None or found.pid != self.pid or not found.is_ready:
            return False
        return is_accepting(self.socket_dir)

    def has_socket(self) -> bool:
        """Return whether its socket exists; clean-up programs may remove it."""
        return (self.socket_dir / SOCKET_NAME).exists()

    def wait_serving(self, timeout: float) -> bool:
        """Return True once it accepts connections, False if it ends; raise EmbeddedError at the time-out."""
        deadline = time.monotonic() + timeout
        while self.is_alive():
            if self.is_serving():
                return True
            if time.monotonic() >= deadline:
                raise EmbeddedError(f"The private database was not ready after {timeout:.0f} s.")
            time.sleep(POLL_SECONDS)
        return False

    def stop(self) -> None:
        """End the server and wait for it; raise EmbeddedError when it survives every signal."""
        for pid in {self.pid, *server_processes(self.data)}:
            # A stopped process handles no signal until it is continued.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)
        for number, patience in STOP_STEPS:
            if self.is_alive():
                os.kill(self.pid, number)
            deadline = time.monotonic() + patience
            while self.is_alive() and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            if not self.is_alive():
                return
        raise EmbeddedError(f"The private database (process {self.pid}) does not end.")


def server_settings(socket_dir: Path) -> dict[str, str]:
    """Return the settings on the command line, which outrank every file: private, durable, small."""
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{socket_dir}"',
        "unix_socket_permissions": "0700",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "max_connections": "40",
        "shared_buffers": f"{LEAST_MB}MB",
        "dynamic_shared_memory_type": "mmap",  # outlives logind's RemoveIPC, needs no /dev/shm
        "io_method": "sync",  # three processes fewer
        "jit": "off",
        "huge_pages": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "256MB",
        "min_wal_size": "32MB",
        "max_logical_replication_workers": "0",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
        "log_checkpoints": "off",
        "log_min_error_statement": "panic",  # statements hold the GM's text, which belongs in no log
        "log_error_verbosity": "terse",
        "logging_collector": "off",
    }
    if sys.platform == "linux":
        settings["recovery_init_sync_method"] = "syncfs"  # one call instead of a thousand after a crash
    if sys.platform == "darwin":
        settings["wal_sync_method"] = "fsync_writethrough"
    return settings
