"""A GM at a terminal: the real program, used by its keys alone, and watched on the screen alone."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import prefork
from tests.e2e.prefork import Forked
from tests.e2e.program import PROGRAM, Machine
from tests.terminal import PATIENCE, STANDARD, Running, Size, Terminal

TRIES = 6
"""How often a key is pressed that may come too early."""
START = 60.0
"""Seconds that the first start may take: a database is made."""
_LONGEST_EXPLANATION = 8000
"""Characters of a log."""


@dataclass(frozen=True)
class Character:
    """One of the cast."""

    name: str
    identity: str


@dataclass(frozen=True)
class Setting:
    """Texts typed on tab 1."""

    world: str
    chapter: str
    cast: Sequence[Character]


class GameMaster(Terminal):
    """A window of the program on a machine."""

    def __init__(
        self,
        machine: Machine,
        environment: Mapping[str, str] | None = None,
        *,
        size: Size = STANDARD,
        term: str = "xterm-256color",
        bytes_per_second: int | None = None,
        patience: float = PATIENCE,
        program: Sequence[str | Path] = (PROGRAM,),
        main: str = prefork.PROGRAM,
    ) -> None:
        self._main = main
        super().__init__(
            program,
            {**machine.environment, **(environment or {})},
            cwd=machine.work,
            size=size,
            term=term,
            bytes_per_second=bytes_per_second,
            patience=patience,
        )
        self._log = machine.data / "logs" / "storyengine.log"

    def _start(
        self, command: Sequence[str | Path], environment: Mapping[str, str], cwd: Path | None, slave: int
    ) -> Running:
        if command[0] != PROGRAM or cwd is None:
            return super()._start(command, environment, cwd, slave)
        return Forked(command, environment, cwd, terminal=slave, main=self._main)

    @property
    def errors(self) -> list[str]:
        """Reports of bugs in the program's log."""
        with suppress(FileNotFoundError):
            return [line for line in self._log.read_text("utf-8").splitlines() if " ERROR " in line]
        return []

    def explain(self) -> str:
        """Return the end of the program's log, with the tracebacks of bugs; empty where it has none."""
        with suppress(FileNotFoundError):
            return self._log.read_text("utf-8")[-_LONGEST_EXPLANATION:]
        return ""

    @property
    def foot(self) -> str:
        """The line of the keys."""
        return self.text.split("\n")[-1]

    def command(self, name: str) -> None:
        """Choose a command of the palette by its name."""
        self.press("ctrl+p")
        self.wait_for("Search for commands")
        self.type(name)
        self.wait_for(lambda: [line.strip() for line in self.text.split("\n")].count(name) == 1)
        self.press("enter")

    # Tab 1

    def type_hidden(self, prompt: str, text: str) -> None:
        """Answer a prompt that shows nothing. It asks, then hides: what comes in between is thrown away."""

        def hides() -> bool:
            row = self.screen.display[self.screen.cursor.y].rstrip()
            return row.endswith(f"{prompt}:") and self.screen.cursor.x > len(row)

        self.wait_for(hides)
        self.type(text)
        self.press("enter")

    def begin_empty(self) -> None:
        """Come as a newcomer, and start with an empty chapter."""
        self.wait_for("Connect a model", START)
        self.press("escape")
        self.wait_while("Welcome to Story Engine")

    def set_up(self, setting: Setting) -> None:
        """Type world, chapter and cast, from field to field, as fast as keys can be sent."""
        self.type(setting.world)
        self.press("tab")
        self.paste(setting.chapter)
        self.press("tab", "tab")
        for number, character in enumerate(setting.cast, 1):
            if number > 1:
                self.press("ctrl+n")
                self.wait_for(f"┃ {number} Name ")
            self.type(character.name)
            self.press("tab")
            self.paste(character.identity)
            self.wait_for(f"[{number} {character.name} ✎]")

    def lock(self, patience: float | None = None) -> None:
        """Go to tab 2, which asks, and say yes; return when the first prompt can be typed."""
        self.press("f3")
        self.wait_for("Lock and play")
        self.press("tab", "enter")
        self.wait_for("being played", patience)
        self.wait_for("━ To 1 ")

    # Tab 2

    def prompt(self, text: str) -> None:
        """Type a prompt into the panel that shows, and send it."""
        self.type(text)
        self.press("enter")

    def wait_for_reply(self, number: int, name: str, patience: float | None = None) -> None:
        """Return when the reply to this prompt is stored and the next can be typed."""
        # Below the prompt: the same character may have answered an earlier one.
        self.wait_for(lambda: f"{name}: " in self.text.partition(f"{number}) ")[2], patience)
        self.wait_while("is writing", patience)

    def pick(self, number: int) -> None:
        """Go to the panel of a character, by the keys that the page names."""
        self.press("tab", str(number))
        self.wait_for(f"━ To {number} ")

    def end_chapter(self, patience: float | None = None) -> None:
        """Say that the chapter ends, and wait for tab 3."""
        for _ in range(TRIES):
            # Over a slow line the row of who is writing may come last; before it, the key does nothing.
            self.press("f8")
            with suppress(AssertionError):
                self.wait_for("End the chapter?", self.patience / TRIES)
                break
        self.wait_for("End the chapter?")
        self.press("tab", "enter")
        self.wait_for("ended ·", patience)
        self.wait_for("How to write it")

    # The end

    def leave(self) -> None:
        """Quit, and find that all went well."""
        self.press("ctrl+q")
        assert self.wait_for_end() == 0, f"{self.text}\n{self.explain()}"
        assert not self.errors, self.explain()


def local_model_of(window: Terminal) -> int:
    """Return the process id of the local model that a window has started."""
    listing = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    [found] = [
        int(pid)
        for pid, parent, arguments in (line.split(None, 2) for line in listing.splitlines())
        if int(parent) == window.process.pid and "local/child.py" in arguments
    ]
    return found


def wait_until_asked(window: Terminal, model: int) -> None:
    """Wait until a frozen model has a request that it does not read; the screen says nothing of it."""
    deadline = time.monotonic() + PATIENCE
    while not _is_asked(model):
        assert time.monotonic() < deadline, f"the model was not asked\n{window.text}"
        time.sleep(0.05)  # between two questions to the kernel


def _is_asked(process: int) -> bool:
    """Whether a connection to a server holds bytes that it has not read."""
    own = {link.readlink().name for link in Path(f"/proc/{process}/fd").iterdir()}
    table = Path(f"/proc/{process}/net/tcp").read_text("ascii").splitlines()[1:]
    # The fields are local address, remote address, state, both queues, and further on the inode.
    sockets = [(row[1], row[3], row[4], f"socket:[{row[9]}]") for row in map(str.split, table)]
    addresses = {local for local, state, _, link in sockets if state == _LISTENS and link in own}
    return any(
        local in addresses and state == _CONNECTED and int(queues.partition(":")[2], 16) > 0
        for local, state, queues, _ in sockets
    )


_LISTENS, _CONNECTED = "0A", "01"
