"""The detached process that owns the server and stops it after the last client has gone.

Every client holds a shared lock on `clients.lock`, which the kernel releases however the client ends. The
supervisor holds `supervisor.lock` while it lives; once it can lock `clients.lock` exclusively, no client is
left. It imports the standard library and this package only, and runs with `python -I -S`.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

from db.embedded.cluster import hand_over, prepare_cluster, reachable_binaries
from db.embedded.machine.binaries import Binaries
from db.embedded.machine.cache_size import LEAST_MB, cache_megabytes
from db.embedded.machine.directories import choose_socket_dir
from db.embedded.machine.failure import EmbeddedError, explain_os_error, explain_output
from db.embedded.machine.locks import FileLock
from db.embedded.machine.orphans import end_orphans, forget_stale_server
from db.embedded.machine.postmaster import LOG_FILE, Postmaster
from db.embedded.machine.run_as import RunAs, choose_run_as
from db.embedded.state import Phase, ServerState

CLIENTS_LOCK = "clients.lock"
SUPERVISOR_LOCK = "supervisor.lock"
LOCK_TIMEOUT = 1.0
"""Seconds to wait for the lock. A supervisor that holds it longer serves, or stops its server; the client
waits for either."""
READY_TIMEOUT = 600.0
"""Seconds that recovery after a crash may take."""
WATCH_INTERVAL = 0.25
CRASH_PAUSE = 0.2
CRASH_LIMIT, CRASH_WINDOW = 5, 60.0
"""Give up after so many crashes within so many seconds."""
LOG_TAIL = 4096


class Supervisor:
    """Keeps one server running while there are clients."""

    def __init__(self, home: Path, binaries: Binaries, grace: float, memory: int) -> None:
        self._home = home
        self._binaries = binaries
        self._grace = grace
        self._memory = memory
        self._log = home / LOG_FILE
        self._clients = FileLock(home / CLIENTS_LOCK)
        self._crashes: deque[float] = deque(maxlen=CRASH_LIMIT)
        self._must_stop = False
        self._was_lost = False
        """Whether a server that was started here did not start, or was lost."""

    def run(self) -> None:
        """Serve until no client is left or SIGTERM arrives; raise EmbeddedError when it cannot run."""
        signal.signal(signal.SIGTERM, self._on_terminate)
        version = self._binaries.version()
        run_as = choose_run_as(self._home, self._binaries)
        binaries = reachable_binaries(run_as, self._binaries, version)
        data = prepare_cluster(run_as, binaries, version)
        while True:
            server = Postmaster.adopt(data) or self._start(run_as, binaries)
            try:
                if self._serve_until_lost(server, run_as, version):
                    return
                self._was_lost = True
            finally:
                server.stop()
                end_orphans(data)

    def _serve_until_lost(self, server: Postmaster, run_as: RunAs, version: str) -> bool:
        """Return True when the server was stopped for good, False when another one is needed."""
        if not server.wait_serving(READY_TIMEOUT):
            self._note_crash()
            return False
        self._publish(Phase.READY, server, run_as, version)
        if not self._watch(server):
            self._publish(Phase.STARTING, server, run_as, version)
            return False
        self._publish(Phase.STOPPING, server, run_as, version)
        server.stop()
        if not server.socket_dir.is_relative_to(run_as.base):
            with contextlib.suppress(OSError):
                server.socket_dir.rmdir()  # in a shared directory: leave nothing behind
        self._publish(Phase.STOPPED, server, run_as, version)
        return True

    def _start(self, run_as: RunAs, binaries: Binaries) -> Postmaster:
        socket_dir = choose_socket_dir(run_as.base, run_as.owner)
        forget_stale_server(run_as.base / "data", socket_dir)
        hand_over(run_as, binaries)
        # The machine may have refused the memory of a larger cache, or have run out of it.
        cache = LEAST_MB if self._was_lost else cache_megabytes(run_as.base / "data", self._memory)
        try:
            return Postmaster.start(run_as, binaries, socket_dir, self._log, cache)
        except subprocess.SubprocessError as error:
            raise EmbeddedError("The private database could not be started.") from error

    def _watch(self, server: Postmaster) -> bool:
        """Return True when it is time to stop, False when the server is lost."""
        idle_since: float | None = None
        while server.is_alive() and server.has_socket():
            if self._must_stop:
                return True
            if self._clients.try_exclusive():
                idle_since = idle_since or time.monotonic()
                if time.monotonic() - idle_since >= self._grace:
                    return True  # keeps the lock: a new client waits until this process ends
                self._clients.release()
            else:
                idle_since = None
            time.sleep(WATCH_INTERVAL)
        return False

    def _note_crash(self) -> None:
        now = time.monotonic()
        self._crashes.append(now)
        if self._must_stop or (len(self._crashes) == CRASH_LIMIT and now - self._crashes[0] < CRASH_WINDOW):
            raise explain_output("server", _tail(self._log), self._home)
        time.sleep(CRASH_PAUSE * len(self._crashes))

    def _publish(self, phase: Phase, server: Postmaster, run_as: RunAs, version: str) -> None:
        ServerState(
            phase=phase,
            pid=server.pid,
            supervisor=os.getpid(),
            version=version,
            data=str(server.data),
            socket_dir=str(server.socket_dir),
            notification=run_as.notification,
        ).write(self._home)

    def _on_terminate(self, number: int, frame: object) -> None:
        self._must_stop = True


def _tail(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - LOG_TAIL))
        return stream.read().decode("utf-8", "replace")


def main(arguments: list[str]) -> int:
    """Run as `HOME BINARIES GRACE MEMORY`: take the lock, fork, serve in the child, report in the state file.

    The memory is in megabytes. The client waits for this process only; exit code 0 means that the child holds
    the lock.
    """
    home = Path(arguments[0])
    os.umask(0o077)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with FileLock(home / SUPERVISOR_LOCK) as lock:
        if not lock.wait_exclusive(time.monotonic() + LOCK_TIMEOUT):
            return 1
        ServerState.forget(home)  # only with the lock held: the file may be another supervisor's
        if os.fork() > 0:
            return 0
        grace, memory = float(arguments[2]), int(arguments[3])
        return _serve(home, Supervisor(home, Binaries(Path(arguments[1])), grace, memory))


def _serve(home: Path, supervisor: Supervisor) -> int:
    try:
        supervisor.run()
    except EmbeddedError as error:
        return _fail(home, error)
    except OSError as error:
        return _fail(home, explain_os_error(error, home))
    return 0


def _fail(home: Path, error: EmbeddedError) -> int:
    sys.stderr.write(f"{error.message} {error.hint}\n")
    with contextlib.suppress(OSError):  # a full disk, which the client notices by itself
        ServerState(phase=Phase.FAILED, message=error.message, hint=error.hint).write(home)
    return 1
