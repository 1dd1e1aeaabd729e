"""Attaches the program to the private PostgreSQL, and starts it when it does not run."""

import asyncio
import errno
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

from core.config.files.machine_memory import memory_of_machine
from core.config.files.private_files import environment_without_secrets
from core.domain.errors import ErrorCode, StorageError
from db.embedded.machine.access import DATABASE, role_of
from db.embedded.machine.binaries import Binaries, find_binaries
from db.embedded.machine.directories import PORT, make_private, refuse_long_path, refuse_network_file_system
from db.embedded.machine.failure import EmbeddedError, explain_os_error
from db.embedded.machine.locks import POLL_SECONDS, FileLock, is_locked
from db.embedded.machine.postmaster import LOG_FILE
from db.embedded.machine.probe import is_accepting
from db.embedded.state import Phase, ServerState
from db.embedded.supervisor import CLIENTS_LOCK, SUPERVISOR_LOCK

START_LOCK = "start.lock"
SUPERVISOR_LOG = "supervisor.log"
DEFAULT_GRACE = 3.0
"""Seconds that the server outlives its last client, so that consecutive commands find it running."""
DEFAULT_TIMEOUT = 60.0
START_ATTEMPTS = 3
ANSWER_TIMEOUT = 10.0
"""Seconds after which a server that reported to be ready, but does not answer, counts as frozen."""
SUPERVISOR_LOG_LIMIT = 1_000_000
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from db.embedded.supervisor import main; sys.exit(main(sys.argv[2:]))"
)
"""Run with -I, so that neither the environment nor the current directory decides what is imported."""

log = logging.getLogger(__name__)


def _memory() -> str:
    """Return the megabytes of memory of this machine, or of the container that it runs in."""
    try:
        return str(memory_of_machine().total)
    except (OSError, ValueError):  # a system that does not say it
        return "0"


class EmbeddedServer:
    """One client of the private server in `home`; any number of clients and processes share the server.

    `acquire` and `release` can be called from any thread, and repeatedly.
    """

    def __init__(self, home: Path, *, binaries: Binaries | None = None, grace: float = DEFAULT_GRACE) -> None:
        self._home = Path(os.path.realpath(home))
        self._binaries = binaries
        self._grace = grace
        self._clients: FileLock | None = None
        self._guard = threading.Lock()

    def acquire(self, timeout: float = DEFAULT_TIMEOUT) -> str:
        """Return the SQLAlchemy URL of a server that accepts connections and runs until `release`.

        A second call restarts a lost server. Raises StorageError.
        """
        deadline = time.monotonic() + timeout
        try:
            with self._guard:
                self._attach(deadline)
                return self.url()
        except EmbeddedError as error:
            raise _storage_error(error) from error
        except OSError as error:
            raise _storage_error(explain_os_error(error, self._home)) from error

    def release(self) -> None:
        """Detach from the server, which stops after its last client."""
        with self._guard:
            self._close_clients()

    async def acquire_async(self, within: float = DEFAULT_TIMEOUT) -> str:
        """`acquire` in a thread."""
        return await asyncio.to_thread(self.acquire, within)

    def url(self, database: str = DATABASE) -> str:
        """Return the SQLAlchemy URL of a database of the server; meaningful after `acquire`."""
        to = self.connection_parameters(database)
        host = quote(to["host"], safe="", errors="surrogateescape")
        return f"postgresql+psycopg://{to['user']}@/{quote(database, safe='')}?host={host}&port={PORT}"

    def connection_parameters(self, database: str = DATABASE) -> dict[str, str]:
        """Return the keywords that libpq and psycopg connect with; meaningful after `acquire`."""
        state = ServerState.read(self._home)
        role = role_of(Path(state.data))
        return {"host": state.socket_dir, "port": str(PORT), "user": role, "dbname": database}

    def is_supervised(self) -> bool:
        """Whether a supervisor runs, which restarts the server when it is lost."""
        return is_locked(self._home / SUPERVISOR_LOCK)

    def _attach(self, deadline: float) -> None:
        if sys.platform == "win32":
            find_binaries()
        was_attached = self._clients is not None
        try:
            if self._clients is None:
                refuse_long_path(self._home)
                refuse_network_file_system(make_private(self._home))
                self._clients = FileLock(self._home / CLIENTS_LOCK)
                if not self._clients.wait_shared(deadline):  # held while a shutdown is under way
                    raise self._too_late()
            with FileLock(self._home / START_LOCK) as start:  # one starter at a time
                if not start.wait_exclusive(deadline):
                    raise self._too_late()
                self._ensure_running(deadline)
        except BaseException:  # interrupted too: a leaked lock would keep the server running
            if not was_attached:
                self._close_clients()
            raise

    def _ensure_running(self, deadline: float) -> None:
        attempts = 0
        silent_since: float | None = None
        while True:
            is_supervised = self.is_supervised()
            state = ServerState.read(self._home)
            is_ready = is_supervised and state.phase is Phase.READY
            asked = time.monotonic()
            if is_ready and is_accepting(Path(state.socket_dir)):
                break
            silent_since = (silent_since or asked) if is_ready else None
            if silent_since is not None and time.monotonic() - silent_since >= ANSWER_TIMEOUT:
                raise _frozen(state)
            if not is_supervised:
                self._refuse_failure(state, attempts)
                self._spawn_supervisor(deadline)
                attempts += 1
            if time.monotonic() >= deadline:
                raise self._too_late()
            time.sleep(POLL_SECONDS)
        if attempts and state.notification:
            log.warning(state.notification)

    def _refuse_failure(self, state: ServerState, attempts: int) -> None:
        if attempts and state.phase is Phase.FAILED:
            raise EmbeddedError(state.message, state.hint)
        if attempts < START_ATTEMPTS:
            return
        if os.statvfs(self._home).f_bavail == 0:
            raise explain_os_error(OSError(errno.ENOSPC, ""), self._home)
        raise EmbeddedError(
            "The private database ends as soon as it has started.",
            f"The reason may be in {self._home / SUPERVISOR_LOG}.",
        )

    def _spawn_supervisor(self, deadline: float) -> None:
        root = Path(__file__).resolve().parents[2]
        arguments: list[str | Path] = [self._home, self._find_binaries().root, str(self._grace), _memory()]
        report = self._home / SUPERVISOR_LOG
        is_long = report.exists() and report.stat().st_size > SUPERVISOR_LOG_LIMIT
        with report.open("wb" if is_long else "ab") as output:
            supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOT, root, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env=environment_without_secrets(),
                start_new_session=True,  # no Ctrl-C and no hang-up from the terminal
            )
        try:
            # It continues in a child of its own.
            supervisor.wait(max(deadline - time.monotonic(), POLL_SECONDS))
        except subprocess.TimeoutExpired as error:
            supervisor.kill()
            supervisor.wait()
            raise self._too_late() from error

    def _find_binaries(self) -> Binaries:
        if self._binaries is None:
            self._binaries = find_binaries()
        return self._binaries

    def _too_late(self) -> EmbeddedError:
        return EmbeddedError(
            "The private database was not ready in time; it may still be recovering, and nothing is lost.",
            f"Try again in a moment; {self._home / LOG_FILE} tells what it does.",
        )

    def _close_clients(self) -> None:
        if self._clients is not None:
            self._clients.close()
            self._clients = None


def _frozen(state: ServerState) -> EmbeddedError:
    return EmbeddedError(
        f"The private database runs (process {state.pid}) but does not answer; stored data is safe.",
        f"If it was stopped, let it go on with `kill -CONT {state.pid}`; "
        f"else end it with `kill -9 {state.pid}` and start again.",
    )


def _storage_error(error: EmbeddedError) -> StorageError:
    return StorageError(ErrorCode.STORAGE_LOAD_FAILED, error.message, error.hint, is_transient=False)
