"""When the private server cannot serve, the user gets one sentence and a hint, and nothing is changed."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.domain.errors import ErrorCode, StorageError
from db.embedded.machine.binaries import Binaries, find_binaries, major_of
from db.embedded.machine.directories import DATA_PATH_MAX, file_system_of, refuse_network_file_system
from db.embedded.machine.failure import EmbeddedError
from db.embedded.machine.locks import FileLock
from db.embedded.server import EmbeddedServer
from db.embedded.supervisor import CLIENTS_LOCK
from tests.store.embedded.embedded_fixtures import (
    empty_home,
    home,
    is_stopped,
    needs_root,
    open_dir,
    serving,
    stop,
)
from tests.store.embedded.server_status import status_of

__all__ = ["empty_home", "home", "open_dir"]

MOUNTS = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw
31 30 254:2 / /home/gm/local\\040disk rw - xfs /dev/vdb rw
32 22 0:41 / /mnt/c rw,noatime - 9p C:\\ rw
"""


def refusal_of(server: EmbeddedServer, timeout: float = 30.0) -> StorageError:
    with pytest.raises(StorageError) as caught:
        server.acquire(timeout)
    error = caught.value
    assert error.code is ErrorCode.STORAGE_LOAD_FAILED
    assert not error.is_transient
    assert error.hint
    assert "\n" not in str(error)
    assert "Traceback" not in str(error)
    return error


def test_another_major_version_is_refused_with_the_way_out(home: Path) -> None:
    (home / "data" / "PG_VERSION").write_text("16\n")
    before = sorted(path.name for path in (home / "data").iterdir())
    error = refusal_of(EmbeddedServer(home))
    assert "PostgreSQL 16" in error.message
    assert "PostgreSQL 18" in error.message
    assert "storyengine db backup" in error.hint
    assert "storyengine db restore FILE" in error.hint
    assert sorted(path.name for path in (home / "data").iterdir()) == before
    assert is_stopped(home)
    (home / "data" / "PG_VERSION").write_text("18\n")
    with serving(home) as server:
        assert status_of(server).problem == ""


@pytest.mark.parametrize(("text", "major"), [("18.6", 18), ("19beta1", 19), ("17\n", 17), ("9.6", 9)])
def test_the_major_version_is_read(text: str, major: int) -> None:
    assert major_of(text) == major


def test_a_version_that_cannot_be_read_is_refused(home: Path) -> None:
    (home / "data" / "PG_VERSION").write_text("who knows\n")
    assert "not a version" in refusal_of(EmbeddedServer(home)).message


def test_a_directory_of_something_else_is_left_alone(empty_home: Path) -> None:
    (empty_home / "data").mkdir(parents=True)
    (empty_home / "data" / "diary.txt").write_text("mine")
    refusal_of(EmbeddedServer(empty_home))
    assert [path.name for path in (empty_home / "data").iterdir()] == ["diary.txt"]


def test_a_server_that_cannot_start_says_why(home: Path) -> None:
    with (home / "data" / "postgresql.conf").open("a") as settings:
        settings.write("max_wal_size = '1MB'\nno_such_thing = on\n")
    error = refusal_of(EmbeddedServer(home))
    assert "configuration file" in error.message
    assert status_of(EmbeddedServer(home)).problem == str(error)


def test_without_the_wheel_the_url_is_named() -> None:
    with pytest.raises(EmbeddedError) as caught:
        find_binaries("no_such_wheel")
    assert "STORYENGINE_DATABASE_URL" in caught.value.hint


def test_programs_that_do_not_run_here_are_refused(empty_home: Path, tmp_path: Path) -> None:
    programs = tmp_path / "musl" / "bin"
    programs.mkdir(parents=True)
    (programs / "postgres").write_text("#!/lib/ld-of-another-system.so\n")
    (programs / "postgres").chmod(0o755)
    error = refusal_of(EmbeddedServer(empty_home, binaries=Binaries(tmp_path / "musl")))
    assert "musl" in error.message
    assert "STORYENGINE_DATABASE_URL" in error.hint


def test_a_network_file_system_is_told_from_a_disk() -> None:
    assert file_system_of(Path("/var/lib/x"), MOUNTS) == "ext4"
    assert file_system_of(Path("/home/gm/.local"), MOUNTS) == "nfs4"
    assert file_system_of(Path("/home/gm/local disk/x"), MOUNTS) == "xfs"
    assert file_system_of(Path("/homestead"), MOUNTS) == "ext4"
    assert file_system_of(Path("/x"), "") == ""
    refuse_network_file_system(Path("/var/lib/x"), MOUNTS)
    for path in ("/home/gm", "/mnt/c/Users"):
        with pytest.raises(EmbeddedError, match="network file system") as caught:
            refuse_network_file_system(Path(path), MOUNTS)
        assert "STORYENGINE_DATABASE_URL" in caught.value.hint


def test_a_network_file_system_is_refused_before_anything_starts(
    empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text("22 1 0:40 / / rw - nfs server:/ rw\n")
    monkeypatch.setattr("db.embedded.machine.directories.MOUNTS", mounts)
    assert "(nfs)" in refusal_of(EmbeddedServer(empty_home)).message
    assert list(empty_home.iterdir()) == []


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a directory" in refusal_of(EmbeddedServer(tmp_path / "file")).message
    assert "not a directory" in refusal_of(EmbeddedServer(tmp_path / "file" / "below")).message


@needs_root
def test_a_home_of_another_user_is_refused(empty_home: Path) -> None:
    empty_home.mkdir()
    os.chown(empty_home, 65534, 65534)
    assert "of the user" in refusal_of(EmbeddedServer(empty_home)).message


def test_a_path_that_the_system_cannot_hold_is_refused(tmp_path: Path) -> None:
    assert "too long" in refusal_of(EmbeddedServer(tmp_path / ("x" * 300))).message


def test_a_path_that_postgresql_cannot_hold_is_refused_and_not_made(tmp_path: Path) -> None:
    home = tmp_path.joinpath(*(["long" * 25] * 20))
    error = refusal_of(EmbeddedServer(home))
    assert "the path is too long" in error.message
    assert len(error.message) < 300
    assert list(tmp_path.iterdir()) == []


def test_the_longest_path_that_is_let_through_serves(open_dir: Path) -> None:
    home = open_dir
    while (rest := DATA_PATH_MAX - len(os.fsencode(home)) - 1) > 0:
        home /= "x" * min(rest if rest <= 200 else 150, rest)
    assert len(os.fsencode(home)) == DATA_PATH_MAX
    with serving(home) as server:
        assert status_of(server).data == str(home / "data")


def test_a_server_that_is_frozen_is_named_within_seconds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.embedded.server.ANSWER_TIMEOUT", 0.5)
    with serving(home) as server:
        pid = status_of(server).pid
        os.kill(pid, signal.SIGSTOP)
        try:
            error = refusal_of(EmbeddedServer(home))
        finally:
            os.kill(pid, signal.SIGCONT)
        assert f"process {pid}" in error.message
        assert f"kill -CONT {pid}" in error.hint
        assert EmbeddedServer(home).acquire()


@contextmanager
def mounted(path: Path, options: str) -> Iterator[None]:
    """Mount a small file system of its own at `path`; skip the test where that is forbidden."""
    path.mkdir(mode=0o700, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "storyengine-test", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is forbidden here")
    try:
        yield
    finally:
        stop(path / "postgres")
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@needs_root
def test_a_read_only_disk_is_named(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "ro,size=1m"):
        error = refusal_of(EmbeddedServer(tmp_path / "disk" / "postgres"))
    assert "read-only" in error.message
    assert "STORYENGINE_DATA_DIR" in error.hint


@needs_root
def test_a_disk_that_fills_up_in_the_first_start_is_named_and_left_clean(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=8m,mode=700"):
        server = EmbeddedServer(tmp_path / "disk" / "postgres", grace=0.0)
        error = refusal_of(server)
        assert list((tmp_path / "disk" / "postgres").glob("data*")) == []
    assert "the disk is full" in error.message
    assert "Free some space" in error.hint


@needs_root
def test_a_disk_without_a_byte_left_is_named(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m,mode=700"):
        server = EmbeddedServer(tmp_path / "disk" / "postgres")
        fill(tmp_path / "disk" / "ballast")
        error = refusal_of(server)
    assert "the disk is full" in error.message


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as ballast:
        try:
            while ballast.write(b"\0" * 65536):
                pass
        except OSError:
            return


def test_a_shutdown_that_takes_too_long_is_told(home: Path) -> None:
    with FileLock(home / CLIENTS_LOCK) as held:
        assert held.try_exclusive()
        error = refusal_of(EmbeddedServer(home), timeout=0.05)
    assert "not ready in time" in error.message


def test_a_refused_program_holds_nothing(home: Path) -> None:
    (home / "data" / "PG_VERSION").write_text("16\n")
    refusal_of(EmbeddedServer(home))
    with FileLock(home / CLIENTS_LOCK) as lock:
        assert lock.try_exclusive()
