"""Fixtures of the tests of the private server: real servers, real directories, programs that use them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import TupleRow

from db.embedded.machine.binaries import find_binaries
from db.embedded.machine.locks import is_locked
from db.embedded.machine.probe import server_processes
from db.embedded.server import EmbeddedServer
from db.embedded.state import STATE_FILE
from db.embedded.supervisor import SUPERVISOR_LOCK
from tests.store.embedded.server_status import status_of
from tests.store.made_data import copy_new_data, fast_directory

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60.0

CLIENT = """
import sys
from pathlib import Path
from core.domain.errors import StorageError
from db.embedded.machine.binaries import Binaries
from db.embedded.server import EmbeddedServer
home, grace, programs = sys.argv[1:]
server = EmbeddedServer(Path(home), grace=float(grace), binaries=Binaries(Path(programs)))
try:
    print(server.acquire(), flush=True)
except StorageError as error:
    print("refused:", error, flush=True)
    sys.exit(3)
sys.stdin.read()
server.release()
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")


def wait_until(predicate: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Return once `predicate` holds; fail when time is up."""
    deadline = time.monotonic() + patience
    while not predicate():
        assert time.monotonic() < deadline, f"not within {patience:.0f} s: {what}"
        time.sleep(0.01)  # between two questions to another process


class Client(subprocess.Popen[str]):
    """A program that attaches, says how to connect, and lets go when its input ends."""

    def __init__(
        self,
        home: Path,
        grace: float = 0.0,
        interpreter: str = sys.executable,
        user: int | None = None,
        environment: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        super().__init__(
            [*prefix, interpreter, "-c", CLIENT, str(home), str(grace), str(find_binaries().root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        )

    def answer(self) -> str:
        """Return the URL, or the sentence of the refusal."""
        assert self.stdout is not None
        return self.stdout.readline().strip()

    def leave(self) -> None:
        """Let go in good order."""
        self.communicate(timeout=PATIENCE)


def is_stopped(home: Path) -> bool:
    """Return whether the server in `home` has no supervisor."""
    return not is_locked(home / SUPERVISOR_LOCK)


def stop(home: Path) -> None:
    """End what a test left running."""
    server = EmbeddedServer(home)
    deadline = time.monotonic() + PATIENCE
    while not is_stopped(home) and time.monotonic() < deadline:
        if supervisor := status_of(server).supervisor:
            with suppress(ProcessLookupError):
                os.kill(supervisor, signal.SIGTERM)
        time.sleep(0.02)  # between two questions to another process
    for pid in server_processes(Path(status_of(server).data or home / "data")):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)


@contextmanager
def serving(home: Path, environment: Mapping[str, str] | None = None) -> Iterator[EmbeddedServer]:
    """Give a server that is up, in this process, and stop it afterwards."""
    server = EmbeddedServer(home, grace=0.0)
    with pytest.MonkeyPatch.context() as patch:
        for name, text in (environment or {}).items():
            patch.setenv(name, text)
        try:
            server.acquire(PATIENCE)
            yield server
        finally:
            server.release()
            stop(home)


def connect(server: EmbeddedServer) -> psycopg.Connection[TupleRow]:
    """Connect as the program does; every statement commits."""
    return psycopg.connect(**server.connection_parameters(), autocommit=True)  # type: ignore[arg-type]  # names


def ask(server: EmbeddedServer, query: str) -> str:
    """Return the first value that a query gives, as text."""
    with connect(server) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])


@contextmanager
def directory() -> Iterator[Path]:
    """Make a directory, and in the end stop every server in it and remove it."""
    with tempfile.TemporaryDirectory(prefix="se-", dir=fast_directory(), ignore_cleanup_errors=True) as name:
        yield Path(name)
        for state in Path(name).rglob(STATE_FILE):
            stop(state.parent)


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory of a short path in which every account may look around, but not write."""
    with directory() as path:
        path.chmod(0o755)
        yield path


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of the test's own that starts warm."""
    with directory() as path:
        copy_new_data(path / "postgres")
        yield path / "postgres"
        stop(path / "postgres")


@pytest.fixture(scope="module")
def served() -> Iterator[EmbeddedServer]:
    """A server that is up, for the tests of a file that only ask it."""
    with directory() as path:
        copy_new_data(path / "postgres")
        with serving(path / "postgres") as server:
            yield server


@pytest.fixture
def empty_home() -> Iterator[Path]:
    """A home that does not exist yet."""
    with directory() as path:
        yield path / "postgres"
        stop(path / "postgres")
