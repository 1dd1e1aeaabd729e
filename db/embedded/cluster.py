"""Creates and checks the data directory: atomically, of one major version, without stale leftovers."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from db.embedded.machine.access import ADMINISTRATOR, CREATE, DATABASE, HAND_OVER, role_of, write_access
from db.embedded.machine.binaries import Binaries, major_of, program_environment
from db.embedded.machine.directories import can_reach, sync_directory
from db.embedded.machine.failure import URL_HINT, EmbeddedError, explain_os_error, explain_output
from db.embedded.machine.orphans import ORPHAN_PATIENCE, end_orphans
from db.embedded.machine.postmaster import server_settings
from db.embedded.machine.run_as import RunAs

INITDB_TIMEOUT = 300.0
MMAP = "dynamic_shared_memory_type=mmap"
"""Outlives logind's RemoveIPC, and needs none of the little /dev/shm that a container has."""
_LEFTOVER = "data.new-"
_INITDB_OPTIONS = (
    f"--username={ADMINISTRATOR}",
    "--auth=peer",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--data-checksums",
    "--no-instructions",
    "--no-sync",
    f"--set={MMAP}",
)
_SYNC_OPTIONS = ("--sync-method=syncfs",) if sys.platform == "linux" else ()


def prepare_cluster(run_as: RunAs, binaries: Binaries, version: str) -> Path:
    """Return the data directory, created if missing; raise EmbeddedError when it cannot be used.

    The caller holds the supervisor's lock.
    """
    data = run_as.base / "data"
    try:
        for leftover in run_as.base.glob(f"{_LEFTOVER}*"):
            _remove_leftover(leftover)
        if (data / "PG_VERSION").exists():
            refuse_other_major(data, version)
        else:
            _create(run_as, binaries, data)
    except OSError as error:
        raise explain_os_error(error, data) from error
    return data


def _remove_leftover(draft: Path) -> None:
    """Remove the files of an interrupted initdb, which may still run when only its supervisor was killed."""
    deadline = time.monotonic() + ORPHAN_PATIENCE
    while draft.exists() and time.monotonic() < deadline:
        end_orphans(draft)
        shutil.rmtree(draft, ignore_errors=True)


def refuse_other_major(data: Path, version: str) -> None:
    """Raise EmbeddedError when the data directory is of another major version than the server."""
    found = major_of((data / "PG_VERSION").read_text())
    if found != major_of(version):
        raise EmbeddedError(
            f"The stories in {data} were written by PostgreSQL {found}, and this is PostgreSQL "
            f"{major_of(version)}; nothing was changed.",
            "Run `storyengine db backup` with the older version of the program, move the directory away, "
            f"then run `storyengine db restore FILE` with this one. {URL_HINT}",
        )


def _create(run_as: RunAs, binaries: Binaries, data: Path) -> None:
    draft = run_as.base / f"{_LEFTOVER}{os.getpid()}"
    draft.mkdir(mode=0o700)
    try:
        run_as.give(draft)
        _run(run_as, binaries, "initdb", ["-D", draft, *_INITDB_OPTIONS])
        options = ["-F", "-c", "exit_on_error=on", "-c", MMAP, "postgres"]
        _run(run_as, binaries, "postgres", ["--single", "-D", draft, *options], CREATE)
        write_access(run_as, draft)
        _run(run_as, binaries, "initdb", ["--sync-only", *_SYNC_OPTIONS, "-D", draft])
        os.rename(draft, data)
        sync_directory(run_as.base)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _run(run_as: RunAs, binaries: Binaries, name: str, arguments: list[str | Path], text: str = "") -> None:
    try:
        result = run_as.run([binaries.program(name), *arguments], program_environment(), INITDB_TIMEOUT, text)
    except subprocess.TimeoutExpired as error:
        raise EmbeddedError(
            f"The private database's {name} did not end within {INITDB_TIMEOUT:.0f} s."
        ) from error
    except subprocess.SubprocessError as error:
        raise EmbeddedError(f"The private database's {name} could not be started.") from error
    if result.returncode != 0:
        raise explain_output(name, result.stderr, run_as.base)


def hand_over(run_as: RunAs, binaries: Binaries) -> None:
    """Make the program's role the owner of a database that an earlier version created, once.

    Call it while no server runs in the directory.
    """
    data = run_as.base / "data"
    if role_of(data) == ADMINISTRATOR:
        settings = [f"--{name}={value}" for name, value in server_settings(data).items()]
        options = ["-c", "exit_on_error=on", *settings, DATABASE]
        _run(run_as, binaries, "postgres", ["--single", "-D", data, *options], HAND_OVER)
    write_access(run_as, data)


def reachable_binaries(run_as: RunAs, binaries: Binaries, version: str) -> Binaries:
    """Return programs that the server's account can reach: the installed ones, or a copy in its directory.

    A program that root installed for itself may be in root's home, which no other account can read.
    """
    account = run_as.account
    parts = [path for path in (binaries.root, binaries.libraries) if path.exists()]
    if account is None or all(can_reach(path, account.uid, account.gid) for path in parts):
        return binaries
    copy = run_as.base / f"programs-{version}"
    if not copy.exists():
        _copy_programs(binaries, parts, copy)
    return Binaries(copy / binaries.root.relative_to(binaries.root.parents[1]))


def _copy_programs(binaries: Binaries, parts: list[Path], copy: Path) -> None:
    """Copy the programs with the files that they find by relative paths."""
    draft = copy.with_name(f"programs.new-{os.getpid()}")
    try:
        for part in parts:
            place = draft / part.relative_to(binaries.root.parents[1])
            shutil.copytree(part, place, symlinks=True)
        for directory in (draft, draft / binaries.root.parent.name):
            directory.chmod(0o755)
        os.rename(draft, copy)
    except OSError as error:
        raise explain_os_error(error, draft) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
