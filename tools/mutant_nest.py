"""Runs pytest again and again, each time in a child of one process that has the libraries imported.

That is a tenth of the work. Each line on the standard input is a JSON list: the arguments for pytest, the
seconds that it may take, and the file for its output. The answer is a line with its exit code, or with `null`
when it was ended for taking too long.
"""

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

LIBRARIES = (
    "_hypothesis_pytestplugin",
    "alembic",
    "anyio.pytest_plugin",
    "argon2",
    "coverage",
    "hypothesis",
    "json_repair",
    "keyring",
    "openai",
    "psycopg",
    "pydantic_settings",
    "pytest_textual_snapshot",
    "sqlalchemy.ext.asyncio",
    "sqlmodel",
    "textual",
    "typer",
    "uuid6",
)
"""Modules that most tests import; none of the project itself, which changes between two runs."""
_TICK = 0.02


def run(arguments: Sequence[str], patience: float, output: Path) -> int | None:
    """Run pytest in a child; return its exit code, or None when it took more than `patience` seconds."""
    child = os.fork()
    if child == 0:
        _become_pytest(arguments, output)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_TICK)  # until another process is looked at again
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _become_pytest(arguments: Sequence[str], output: Path) -> None:
    """Never return: what the parent does must not be done twice."""
    code = 3
    try:
        os.setsid()
        with output.open("wb") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = int(importlib.import_module("pytest").main(list(arguments)))
        sys.stdout.flush()
    finally:
        os._exit(code)


def main() -> None:
    """Answer until the input ends."""
    for library in ("pytest", *LIBRARIES):
        importlib.import_module(library)
    for line in sys.stdin:
        arguments, patience, output = json.loads(line)
        sys.stdout.write(json.dumps(run(arguments, patience, Path(output))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
