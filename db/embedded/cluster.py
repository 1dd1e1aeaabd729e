"""The data directory: made as a whole or not at all, of one major version, and free of stale leftovers."""

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
BUILTIN_LOCALES_SINCE = SYNC_METHODS_SINCE = 17
"""The major version of the server from which initdb knows them; without the former its C locale is libc's."""
_LEFTOVER = "data.new-"


def prepare_cluster(footing: RunAs, binaries: Binaries, version: str) -> Path:
    """Return the data directory, made when there is none; raise EmbeddedError when it cannot serve.

    Call it with the supervisor's lock held.
    """
    data = footing.base / "data"
    try:
        for leftover in footing.base.glob(f"{_LEFTOVER}*"):
            _remove_leftover(leftover)
        if (data / "PG_VERSION").exists():
            refuse_other_major(data, version)
        else:
            _create(footing, binaries, data, major_of(version))
    except OSError as error:
        raise explain_os_error(error, data) from error
    return data


def _remove_leftover(draft: Path) -> None:
    """Remove what an interrupted initdb left; it may still be at work when only its supervisor was killed."""
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


def _create(footing: RunAs, binaries: Binaries, data: Path, major: int) -> None:
    draft = footing.base / f"{_LEFTOVER}{os.getpid()}"
    draft.mkdir(mode=0o700)
    try:
        footing.give(draft)
        _run(footing, binaries, "initdb", ["-D", draft, *_initdb_options(major)])
        options = ["-F", "-c", "exit_on_error=on", "-c", MMAP, "postgres"]
        _run(
            footing,
            binaries,
            "postgres",
            ["--single", "-D", draft, *options],
            CREATE,
        )
        write_access(footing, draft)
        _run(footing, binaries, "initdb", ["--sync-only", *_sync_option(major), "-D", draft])
        os.rename(draft, data)
        sync_directory(footing.base)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _initdb_options(major: int) -> list[str]:
    builtin = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return [
        f"--username={ADMINISTRATOR}",
        "--auth=peer",
        "--encoding=UTF8",
        *(builtin if major >= BUILTIN_LOCALES_SINCE else ()),
        "--locale=C",
        "--data-checksums",
        "--no-instructions",
        "--no-sync",
        f"--set={MMAP}",
    ]


def _sync_option(major: int) -> list[str]:
    return ["--sync-method=syncfs"] if sys.platform == "linux" and major >= SYNC_METHODS_SINCE else []


def _run(footing: RunAs, binaries: Binaries, name: str, arguments: list[str | Path], text: str = "") -> None:
    try:
        result = footing.run(
            [binaries.program(name), *arguments], program_environment(), INITDB_TIMEOUT, text
        )
    except subprocess.TimeoutExpired as error:
        raise EmbeddedError(
            f"The private database's {name} did not end within {INITDB_TIMEOUT:.0f} s."
        ) from error
    except subprocess.SubprocessError as error:
        raise EmbeddedError(f"The private database's {name} could not be started.") from error
    if result.returncode != 0:
        raise explain_output(name, result.stderr, footing.base)


def hand_over(footing: RunAs, binaries: Binaries, version: str) -> None:
    """Make the program's role the owner of a database that an earlier version made; do it once.

    Call it while no server runs in the directory.
    """
    data = footing.base / "data"
    if role_of(data) == ADMINISTRATOR:
        settings = [f"--{name}={value}" for name, value in server_settings(data, version).items()]
        options = ["-c", "exit_on_error=on", *settings, DATABASE]
        _run(footing, binaries, "postgres", ["--single", "-D", data, *options], HAND_OVER)
    write_access(footing, data)


def reachable_binaries(footing: RunAs, binaries: Binaries, version: str) -> Binaries:
    """Return programs that the server's account can reach: ours, or a copy in its directory.

    A program that root installed for itself is under /root, where no other account gets in.
    """
    account = footing.account
    parts = [path for path in (binaries.root, binaries.libraries) if path.exists()]
    if account is None or all(can_reach(path, account.uid, account.gid) for path in parts):
        return binaries
    copy = footing.base / f"programs-{version}"
    if not copy.exists():
        _copy_programs(binaries, parts, copy)
    return Binaries(copy / binaries.root.relative_to(binaries.root.parents[1]))


def _copy_programs(binaries: Binaries, parts: list[Path], copy: Path) -> None:
    """Copy what the programs find by paths relative to themselves, under one directory."""
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
