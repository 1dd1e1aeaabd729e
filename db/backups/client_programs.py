"""Finds and runs PostgreSQL's own programs (`pg_dump`, `pg_restore`, `psql`)."""

import asyncio
import ipaddress
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from psycopg.conninfo import make_conninfo
from sqlalchemy import URL

from core.config.files.private_files import environment_without_secrets
from core.domain.errors import ErrorCode, StorageError
from db.connections import libpq_keywords
from db.embedded.machine.binaries import find_binaries
from db.embedded.machine.failure import EmbeddedError

OVERRIDE: Final = "STORYENGINE_PG_BIN"
"""Names a directory that holds the programs of PostgreSQL's client."""

_TIMEOUT: Final = 1_800.0
_END: Final = 10.0
_HINT: Final = (
    "Install PostgreSQL's client programs, of the server's version or newer,"
    f" and set {OVERRIDE} to their directory."
)


def program(name: str, url: URL) -> Path:
    """Return the program to use for a server; raise StorageError when none is installed.

    The bundled programs cannot encrypt, so they are used only for servers on this machine: to any other,
    chapters and password would be sent in clear text.
    """
    if directory := os.environ.get(OVERRIDE):
        found = Path(directory).expanduser() / name
        if not os.access(found, os.X_OK):
            raise _failure(f"There is no program {name} in the directory that {OVERRIDE} names.", _HINT)
        return found
    if is_local_server(url):
        try:
            return find_binaries().program(name)
        except EmbeddedError:
            pass  # a server installed on this machine brings its own programs
    if installed := shutil.which(name):
        return Path(installed)
    raise _failure(f"No {name} that can talk to this server is installed.", _HINT)


def is_local_server(url: URL) -> bool:
    """Whether the server is reached through a socket or the loopback interface."""
    host = str(libpq_keywords(url).get("host") or "")
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def run(
    name: str,
    url: URL,
    arguments: Sequence[str | Path],
    *,
    code: ErrorCode,
    connects: bool = True,
    given: IO[bytes] | None = None,
    output: IO[bytes] | None = None,
) -> str:
    """Run a program and return its output; raise StorageError when it fails.

    It reads the file `given`, and writes into the file `output` where there is one.

    The password is passed in the environment: every user of the machine can read a process's arguments.
    """
    kept = {name: text for name, text in environment_without_secrets().items() if not name.startswith("PG")}
    environment = kept | {"LC_ALL": "C", "PGCONNECT_TIMEOUT": "10", "PGAPPNAME": "storyengine"}
    address: list[str] = []
    if connects:
        keywords = libpq_keywords(url)
        environment["PGPASSWORD"] = str(keywords.pop("password", ""))
        address = [f"--dbname={make_conninfo(**keywords)}"]
    try:
        process = await asyncio.create_subprocess_exec(
            program(name, url),
            *address,
            *arguments,
            stdin=given or asyncio.subprocess.DEVNULL,
            stdout=output or asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise _failure(f"{name} could not be started.", _HINT, code) from error
    try:
        said, complaints = await asyncio.wait_for(process.communicate(), _TIMEOUT)
    except TimeoutError as error:
        raise _failure(f"{name} did not end within {_TIMEOUT / 60:.0f} minutes.", "", code) from error
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.wait_for(process.wait(), _END)
    if process.returncode != 0:
        raise _failure(f"{name} failed; nothing was changed.", _complaint(complaints), code)
    return (said or b"").decode(errors="replace")


def _complaint(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines
    hint = f"It says: {telling[0].removesuffix('.')}." if telling else ""
    if "version mismatch" in hint or "SSL support" in hint:
        return f"{hint} {_HINT}"
    return hint


def _failure(message: str, hint: str, code: ErrorCode = ErrorCode.STORAGE_LOAD_FAILED) -> StorageError:
    return StorageError(code, message, hint, is_transient=False)
