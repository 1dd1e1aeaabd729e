"""The real program in processes of its own, each machine with its own home, data and configuration."""

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner, Result

from db.embedded.server import EmbeddedServer
from storyengine_tui.cli.app import app
from tests.e2e.prefork import Forked
from tests.store.embedded.embedded_fixtures import stop
from tests.store.made_data import copy_private_data

PROGRAM = Path(sys.executable).with_name("storyengine")
PATIENCE = 120.0
WORDS_ALONE = {"STORYENGINE_EMBEDDING__SERVICE": "off"}
"""Switches the embedding model off: the doctor starts it, and first makes its weights for a new machine."""


class Machine:
    """A user's home. `run` runs one command to its end; `start` leaves it running."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.out = root / "out"
        self.data = root / "data"
        for path in (self.work, root / "home"):
            path.mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the machine that runs the tests but its programs."""
        home = self.root / "home"
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local"),
            "XDG_STATE_HOME": str(home / ".state"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "STORYENGINE_DATA_DIR": str(self.data),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            "LC_ALL": "C.UTF-8",
        }

    def start(self, *arguments: str | Path, **environment: str) -> Forked:
        """Start a command."""
        return Forked([PROGRAM, *arguments], {**self.environment, **environment}, self.work)

    def start_into(self, output: int, *arguments: str | Path) -> Forked:
        """Start a command with this file as its standard output."""
        return Forked([PROGRAM, *arguments], self.environment, self.work, output=output)

    def start_anew(self, *arguments: str | Path, **environment: str) -> "subprocess.Popen[str]":
        """Start a command as a shell does, from the file of the program."""
        return subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.work,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end, whatever its exit code."""
        with self.start(*arguments, **environment) as process:
            output, errors = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in output + errors, errors
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def call(self, *arguments: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as `run` does, but in this process: for what starts no process of its own.

        Most of the time of a short command is the start of Python, which other tests pay for.
        """
        return self.pipe(b"", *arguments, **environment)

    def pipe(
        self, stdin: bytes, *arguments: str | Path, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command as `call` does, with this on its standard input."""
        removed = {name: None for name in os.environ if name.startswith(("STORYENGINE_", "XDG_"))}
        kept = logging.root.handlers[:]
        words = [str(argument) for argument in arguments]
        with chdir(self.work):
            ended = invoked(words, stdin, {**removed, **self.environment, **environment})
        logging.root.handlers[:] = kept
        assert "Traceback" not in ended.output, ended.output
        return subprocess.CompletedProcess(words, ended.exit_code, ended.stdout, ended.stderr)

    def lines(self, *arguments: str | Path, **environment: str) -> list[str]:
        """Run a command that must go well, in this process, and return what it prints."""
        ended = self.call(*arguments, **environment)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    def play(self, title: str, prompts: int) -> None:
        """Play a chapter of this title with the scripted model, to its end."""
        script = self.write(f"{title}.toml", chapter_script(title, prompts))
        self.lines("play", script, "--provider", "scripted", "--out", self.out)

    def write(self, name: str, text: str) -> Path:
        """Write a file into the working directory."""
        file = self.work / name
        file.write_text(text)
        return file


@cache
def _parsed() -> Any:
    """Return the commands as they are parsed; putting them together takes as long as a short command."""
    return get_command(app)


def invoked(words: Sequence[str], stdin: str | bytes, environment: Mapping[str, str | None]) -> Result:
    """Run a command to its end in this process."""
    with patch("typer.testing._get_command", lambda _: _parsed()):
        return CliRunner().invoke(app, words, input=stdin, env=environment)


@contextmanager
def machine(*, is_new: bool = True) -> Iterator[Machine]:
    """Yield a machine, and stop its server afterwards; with a copied database unless it `is_new`."""
    with tempfile.TemporaryDirectory(prefix="se-e2e-", ignore_cleanup_errors=True) as name:
        made = Machine(Path(name))
        if not is_new:
            made.data.mkdir(mode=0o700)
            copy_private_data(made.data / "postgres")
        try:
            yield made
        finally:
            stop(made.data / "postgres")


@contextmanager
def warm_machine() -> Iterator[tuple[Machine, str]]:
    """Yield a machine whose server stays up between commands, with the URL of its empty database."""
    with machine(is_new=False) as made:
        server = EmbeddedServer(made.data / "postgres")
        url = server.acquire(PATIENCE)
        try:
            yield made, url
        finally:
            with suppress(OSError):
                server.release()


def chapter_script(title: str, prompts: int, *, agents: int = 2, more: str = "") -> str:
    """A chapter script of so many prompts, each with `more` at its end."""
    cast = "".join(f'[[agent]]\nname = "{name}"\nidentity = "{name} of Rime."\n' for name in NAMES[:agents])
    asked = "".join(
        f'[[prompt]]\ntext = "{title}, prompt {number}: what now?{more}"\n'
        for number in range(1, prompts + 1)
    )
    return f'title = "{title}"\nworld = "A sea of glass."\nchapter = "The lamp is out."\n{cast}{asked}'


NAMES = ("Kara", "Joss", "Ines", "Mott", "Rell", "Sy", "Tam")
