"""A user's machine for the benchmark: a home, the private server, chapters, a scripted model."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

from bench.synthetic_sessions import REPLY_WORDS, sentences, whole
from core.config.files.paths import Paths
from core.domain.ids import SessionId
from db.embedded.server import EmbeddedServer
from db.store import open_store
from storyengine_tui.screens.chapter.last_session import LastPanel, write_last_session

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("storyengine")
FLOOR = [sys.executable, "-m", "bench.screen.floor"]
MEMORY_FLOOR = [*FLOOR, "--with-database"]
PATIENCE = 60.0

PACES = {"HEADLONG": (1000, 500), "UNHURRIED": (180, 60), "BRISK": (350, 100)}
"""Tokens of a reply and tokens a second, by the word in the prompt that asks for it, the last one first: what
a character is sent has the prompts before it as well."""
LAST_WORD = "finis"
"""The last word of the service's answers; a reply at some pace ends with the word for that pace."""
SENTENCE = "the lamp went out and nobody saw who had climbed the stair before dawn"


@dataclass(frozen=True)
class Stage:
    """Prepared chapters and services. `choose` sets the chapter that the next start opens."""

    home: Path
    huge: SessionId
    """A chapter as long as anybody may ever write."""
    longs: tuple[SessionId, ...]
    """Chapters whose transcript fills the window of 60,000 characters."""
    blank: tuple[SessionId, ...]
    """Chapters that are locked and have no prompt yet."""
    panels: Mapping[SessionId, LastPanel | None]
    """The panel that each of them opens with."""

    @property
    def long(self) -> SessionId:
        """The first of the long chapters."""
        return self.longs[0]

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the machine that measures but its programs."""
        return {
            **bare_environment(self.home),
            "STORYENGINE_DATA_DIR": str(self.home / "data"),
            "STORYENGINE_CONFIG_DIR": str(self.home / "config"),
            "STORYENGINE_PROVIDER": "scripted",
            "STORYENGINE_SCRIPT": str(self.home / "replies.toml"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }

    @property
    def server(self) -> EmbeddedServer:
        """The private server, not held."""
        return EmbeddedServer(_paths(self.home).server)

    def choose(self, session_id: SessionId) -> None:
        """Have the next start open this chapter, as if it had been left last."""
        write_last_session(_paths(self.home), session_id, self.panels[session_id])

    def wait_until_stopped(self) -> None:
        """Return when the server has ended after its last window."""
        deadline = time.monotonic() + PATIENCE
        while self.server.is_supervised():
            if time.monotonic() > deadline:
                raise TimeoutError("the private server did not stop")
            time.sleep(0.02)


def bare_environment(home: Path) -> dict[str, str]:
    """Return an environment with a home of its own and UTF-8."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local"),
        "XDG_STATE_HOME": str(home / ".state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "LC_ALL": "C.UTF-8",
    }


def last_word(pace: str) -> str:
    """Return the word that a reply at this pace ends with, and no other reply."""
    return f"{LAST_WORD}{pace.lower()}"


def prepare(home: Path, *, prompts: int, longs: int = 1, blank: int = 0, huge: int = 0) -> Stage:
    """Make the home with so many chapters of `prompts` prompts, so many without any, and one of `huge`."""
    home.mkdir(parents=True, mode=0o700)
    (home / "replies.toml").write_text(_script(), "utf-8")
    paths = _paths(home)
    # Others may not read what is ours; the program refuses to start otherwise.
    for place in (paths.data, paths.config):
        place.mkdir(mode=0o700)
    panels = asyncio.run(_fill(EmbeddedServer(paths.server), [huge] + [prompts] * longs + [0] * blank))
    first, *made = panels
    return Stage(home, first, tuple(made[:longs]), tuple(made[longs:]), panels)


async def _fill(server: EmbeddedServer, lengths: list[int]) -> dict[SessionId, LastPanel | None]:
    store = await open_store(await asyncio.to_thread(server.acquire))
    try:
        made: dict[SessionId, LastPanel | None] = {}
        for length in lengths:
            chapter = whole(length)
            await store.chapters.create(chapter if length else replace(chapter, events=()))
            made[chapter.session_id] = None if chapter.session is None else LastPanel.of(chapter.session)
        return made
    finally:
        await store.aclose()
        await asyncio.to_thread(server.release)


def _paths(home: Path) -> Paths:
    data = home / "data"
    return Paths(data=data, config=home / "config", logs=data / "logs", downloads=home / "downloads")


def _script() -> str:
    entries = []
    for word, (tokens, rate) in PACES.items():
        words = list(islice(cycle(SENTENCE.split()), tokens - 1))
        entries.append(
            f'[[reply]]\nmatch = {{ schema = "text", last = "{word}" }}\n'
            f'text = "{" ".join(words)} {last_word(word)}"\nbetween_tokens = {1 / rate}\n'
        )
    # As long as those that are there: the transcript's window would hold ever more events of shorter ones.
    entries.append(f'[[reply]]\nmatch = {{ schema = "text" }}\ntext = "{sentences(REPLY_WORDS, 1)}"\n')
    return "\n".join(entries)
