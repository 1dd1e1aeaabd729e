"""kill -9 at random instants: what was promised to be stored is, once, and nothing else (promise 1).

The instants are spread evenly over the length of a whole play, start-up included. Every killed play is
followed by another one of the same file, which may be killed as well; in the end each is played out. Two
chapters are played at a time, one for each of two cores.
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, LiteralString

import psycopg
import pytest

from tests.e2e.prefork import Forked
from tests.e2e.program import PATIENCE, Machine, chapter_script
from tests.store.servers import plain_url

KILLS = int(os.environ.get("STORYENGINE_KILLS", "6"))
"""`make torture` wants fifty."""
PROMPTS = 9
SEED = int(os.environ.get("STORYENGINE_KILL_SEED", "20261121"))
OF_CHAPTER: LiteralString = "JOIN session ON session_id = session.id WHERE title = %(title)s"
PACE = "[pace]\nfirst_token = 0.02\nbetween_tokens = 0.0005\n"

Row = tuple[Any, ...]


class Killer:
    """Plays chapters and kills what plays, until there were enough kills."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._replies = machine.write("pace.toml", PACE)
        self._random = random.Random(SEED)
        self._guard = Lock()
        self._begun = 0
        self.whole = 0.0
        """Seconds that a play takes which nobody kills."""
        self.kills: list[float] = []
        self.titles: list[str] = []

    def measure(self) -> None:
        """Play one chapter undisturbed."""
        began = time.monotonic()
        self._finish(self._script())
        self.whole = time.monotonic() - began

    def kill_and_play(self) -> None:
        """Play chapter after chapter, each to its end, as long as kills are to be made."""
        while len(self.kills) < KILLS:
            script = self._script()
            while self._is_killed(script):
                pass

    def _script(self) -> Path:
        with self._guard:
            self._begun += 1
            title = f"Killed {self._begun}"
            self.titles.append(title)
        return self._machine.write(f"{title}.toml", chapter_script(title, PROMPTS))

    def _is_killed(self, script: Path) -> bool:
        """Play; return whether it was killed before its end, and has to be played again."""
        with self._guard:
            if len(self.kills) >= KILLS:
                instant = None
            else:
                instant = self._random.uniform(0, self.whole)
                self.kills.append(instant)
        if instant is None:
            self._finish(script)
            return False
        process = self._start(script)
        try:
            process.communicate(timeout=instant)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return True
        with self._guard:
            self.kills.remove(instant)
        assert process.returncode == 0
        return False

    def _start(self, script: Path) -> Forked:
        return self._machine.start(
            "play", script, "--provider", "scripted", "--replies", self._replies, "--out", self._machine.out
        )

    def _finish(self, script: Path) -> None:
        process = self._start(script)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors


@pytest.mark.slow
def test_kills_lose_nothing_and_store_nothing_twice(served: tuple[Machine, str]) -> None:
    machine, url = served
    killer = Killer(machine)
    print(f"seed {SEED}; STORYENGINE_KILL_SEED sets another")
    killer.measure()
    with ThreadPoolExecutor(2) as pool:
        for playing in [pool.submit(killer.kill_and_play) for _ in range(2)]:
            playing.result()
    assert len(killer.kills) == KILLS
    with psycopg.connect(plain_url(url)) as connection:
        for title in killer.titles:
            assert_whole(connection, machine, title)


def assert_whole(connection: "psycopg.Connection[Row]", machine: Machine, title: str) -> None:
    """Every prompt once with its reply, memory without a hole, one draft, and the file that holds it."""

    def rows(query: LiteralString) -> list[Row]:
        return connection.execute(query, {"title": title}).fetchall()

    assert rows("SELECT session.state, prompt_index, boundary FROM session WHERE title = %(title)s") == [
        ("ENDED", PROMPTS, PROMPTS)
    ]
    events = rows(f"SELECT event.prompt_index, ordinal FROM event {OF_CHAPTER} ORDER BY 1, 2")
    assert events == [(index, ordinal) for index in range(1, PROMPTS + 1) for ordinal in (0, 1)]
    told = rows(f"SELECT text FROM event {OF_CHAPTER} AND ordinal = 0 ORDER BY event.prompt_index")
    assert told == [(f"{title}, prompt {number}: what now?",) for number in range(1, PROMPTS + 1)]
    blocks = rows(f"SELECT from_prompt, to_prompt FROM memory_block {OF_CHAPTER} AND ordinal = 0 ORDER BY 1")
    assert blocks == [(0, 0), (1, 7), (8, 9)]
    assert Counter(rows(f"SELECT kind, llm_request.state FROM llm_request {OF_CHAPTER}")) == {
        ("lock", "done"): 1,
        ("reply", "done"): PROMPTS,
        ("summary", "done"): 2,
        ("narrative", "done"): 1,
    }
    good = rows(f"SELECT request_id FROM llm_artifact {OF_CHAPTER} AND error_code IS NULL")
    assert len(good) == len(set(good)) == PROMPTS + 4, "each request has the one answer that was used"
    assert rows(f"SELECT text FROM unsent_text {OF_CHAPTER} AND text <> ''") == []
    [(draft,)] = rows(f"SELECT text FROM narrative_draft {OF_CHAPTER}")
    assert (machine.out / f"{title}.txt").read_text() == f"{draft.rstrip()}\n"
    assert not list(machine.out.glob(f"{title} (*"))
