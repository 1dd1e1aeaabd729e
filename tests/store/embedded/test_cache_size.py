"""The server's cache is as large as what is stored, within bounds, and keeps no server from its start."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from core.config.files.machine_memory import MachineMemory
from db.embedded.machine.cache_size import LEAST_MB, MOST_MB, cache_megabytes, cache_settings
from db.embedded.machine.probe import server_processes
from tests.store.embedded.embedded_fixtures import (
    Client,
    ask,
    home,
    served,
    serving,
    wait_until,
)
from tests.store.embedded.server_status import status_of

__all__ = ["home", "served"]
MB = 1 << 20
SETTING = "SHOW shared_buffers"


def stored(base: Path, megabytes: int) -> None:
    """Store a file of this size, which takes no room, among those of databases."""
    base.mkdir(parents=True, exist_ok=True)
    with (base / "made_up").open("wb") as file:
        file.truncate(megabytes * MB)


@pytest.mark.parametrize(
    ("megabytes", "memory", "cache"),
    [
        (0, 16_000, LEAST_MB),
        (128, 16_000, LEAST_MB),
        (129, 16_000, 192),
        (300, 16_000, 320),
        (5_000, 16_000, MOST_MB),
        (900, 2_000, 250),
        (900, 500, LEAST_MB),
        (300, 0, LEAST_MB),
    ],
)
def test_the_cache_is_as_large_as_what_is_stored_and_the_memory_allows(
    megabytes: int, memory: int, cache: int, tmp_path: Path
) -> None:
    stored(tmp_path / "base" / "16384", megabytes)
    assert cache_megabytes(tmp_path, memory) == cache


def test_what_cannot_be_looked_at_keeps_no_server_from_its_start(tmp_path: Path) -> None:
    assert cache_megabytes(tmp_path / "missing", 16_000) == LEAST_MB
    stored(tmp_path / "base", 200)
    (tmp_path / "base" / "gone").symlink_to(tmp_path / "nowhere")
    assert cache_megabytes(tmp_path, 16_000) == 256


@pytest.mark.parametrize(("memory", "cache"), [(16_000, "320MB"), (2_000, "250MB"), (None, "128MB")])
def test_the_private_server_starts_with_a_cache_for_what_it_stores(
    home: Path, monkeypatch: pytest.MonkeyPatch, memory: int | None, cache: str
) -> None:
    def memory_of_machine() -> MachineMemory:
        if memory is None:
            raise ValueError("unrecognized configuration name")
        return MachineMemory(memory, memory)

    monkeypatch.setattr("db.embedded.server.memory_of_machine", memory_of_machine)
    stored(home / "data" / "base", 280)
    with serving(home) as server:
        assert ask(server, SETTING) == cache


def fills_its_cache(home: Path) -> bool:
    """Whether a process of the server fills its cache, and takes note of it at the end."""
    commands = (Path(f"/proc/{pid}/cmdline").read_bytes() for pid in server_processes(home / "data"))
    return any(b"autoprewarm leader" in command for command in commands)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes by /proc")
def test_a_larger_cache_is_filled_again_with_what_it_had(home: Path) -> None:
    with serving(home) as server:
        assert ask(server, SETTING) == f"{LEAST_MB}MB"
        assert not fills_its_cache(home), "a small library has no such process"
    stored(home / "data" / "base", 280)
    with serving(home):
        wait_until(lambda: fills_its_cache(home), "the process that fills it")


def test_a_server_without_the_module_fills_no_cache(tmp_path: Path) -> None:
    assert cache_settings(256, tmp_path) == {"shared_buffers": "256MB"}
    (tmp_path / "pg_prewarm.dylib").touch()
    assert "shared_preload_libraries" in cache_settings(256, tmp_path)
    assert cache_settings(LEAST_MB, tmp_path) == {"shared_buffers": f"{LEAST_MB}MB"}


def test_a_server_that_was_lost_starts_again_with_the_least_cache(home: Path) -> None:
    """The machine may have run out of memory."""
    stored(home / "data" / "base", 280)
    with serving(home) as server:
        assert ask(server, SETTING) == "320MB"
        lost = status_of(server).pid
        os.kill(lost, signal.SIGKILL)
        wait_until(lambda: status_of(server).is_running and status_of(server).pid != lost, "another server")
        server.acquire()
        assert ask(server, SETTING) == f"{LEAST_MB}MB"


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="no prlimit on this machine")
def test_a_machine_that_refuses_a_larger_cache_gets_the_least(home: Path) -> None:
    stored(home / "data" / "base", 600)
    client = Client(home, prefix=["prlimit", f"--as={500 * MB}"])
    assert client.answer().startswith("postgresql+psycopg://")
    with serving(home) as server:
        assert ask(server, SETTING) == f"{LEAST_MB}MB"
    client.leave()
