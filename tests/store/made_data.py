"""Makes the data of servers once in a run of the tests: its workers copy it, and none uses it itself."""

import asyncio
import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from db.embedded.machine.locks import FileLock
from db.embedded.server import EmbeddedServer
from db.embedded.supervisor import SUPERVISOR_LOCK
from db.store import open_store

ROOM = 2_000_000_000
"""Bytes that must be free in memory before databases are put there."""
PATIENCE = 120.0
SHARED = "SHARED_BY_THE_TESTS_OF_A_RUN"
"""The variable that names the directory in which workers find what one of them has made."""


def fast_directory() -> Path | None:
    """Return memory to put databases in where there is plenty: a disk under load makes the tests crawl."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM:
        return memory
    return None


def share() -> Path:
    """Make the directory that this process and those that it starts share; it goes when this process ends."""
    place = Path(tempfile.mkdtemp(prefix="se-shared-", dir=fast_directory()))
    place.chmod(0o711)  # a server that root starts runs as somebody else, who has to get through
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    os.environ[SHARED] = str(place)
    return place


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return the directory of this name: the first that asks in a run makes it, and the others wait."""
    place = Path(os.environ[SHARED]) if SHARED in os.environ else share()
    made = place / name
    with FileLock(place / f"{name}.lock") as lock:
        assert lock.wait_exclusive(time.monotonic() + PATIENCE), f"{name} was not made in time"
        if not made.exists():
            draft = Path(tempfile.mkdtemp(prefix=name, dir=place))
            make(draft)
            draft.rename(made)
    return made


def copy(source: Path, target: Path) -> None:
    """Copy a directory with owners and modes; `cp` takes half of Python's time."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", f"{source}/.", target], check=True, timeout=PATIENCE)


def copy_new_data(home: Path) -> None:
    """Give the home of a private server its data as the first start makes it."""
    copy(made_once("new", _make_new) / "data", home / "data")


def copy_private_data(home: Path) -> None:
    """Give the home of a private server its data, with an empty database that is up to date."""
    copy(made_once("private", _make_private) / "data", home / "data")


def _make_new(home: Path) -> None:
    server = EmbeddedServer(home, grace=0.0)
    server.acquire(PATIENCE)
    server.release()
    wait_stopped(home)


def _make_private(home: Path) -> None:
    copy_new_data(home)
    server = EmbeddedServer(home, grace=0.0)
    url = server.acquire(PATIENCE)
    # A test that asks for a server may run in an event loop.
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, migrate(url)).result(PATIENCE)
    server.release()
    wait_stopped(home)


def wait_stopped(home: Path) -> None:
    """Wait until the server in `home`, which was released, has no supervisor."""
    with FileLock(home / SUPERVISOR_LOCK) as lock:
        assert lock.wait_shared(time.monotonic() + PATIENCE), "the server does not stop"


async def migrate(url: str) -> None:
    """Bring a database up to date."""
    await (await open_store(url)).aclose()
