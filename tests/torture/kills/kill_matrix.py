"""Kills at named steps: the program, the server, or all of it; then a reader looks, and the play goes on."""

import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg

from db.embedded.server import EmbeddedServer
from tests.e2e.prefork import Forked
from tests.e2e.program import Machine, chapter_script, machine
from tests.store.servers import plain_url
from tests.torture.kills.kill_orders import MOST_TURNS, Orders, Point, Report, Victim
from tests.torture.readers.reader import Reader

ROOT = Path(__file__).resolve().parents[3]
DYING = "tests.torture.kills.dying_program"
PATIENCE = 180.0
PROMPTS = 8
"""A full chunk and a last short one, so that both kinds of summary are made."""
LONG_PROMPTS = 14
"""The first early summary fails, and a full chunk may be due before its next try; a second one is stored."""
LONG = " Go on, and tell me more." * 780
"""Nearly 20,000 characters: five prompts of them are summarised before the next one can go."""
CONDENSED_PROMPTS = 22
"""Three chunks in memory and one prompt more: two are condensed while the third is played."""
NARROW = {"STORYENGINE_PROFILES__LOCAL__CHARACTER__MAX_INPUT_TOKENS": "24000"}
CONDENSING = {
    "STORYENGINE_PROFILES__LOCAL__MEMORY_STRATEGY": "adaptive",
    "STORYENGINE_PROFILES__LOCAL__CHARACTER__MAX_MEMORY_TOKENS": "50",
    "STORYENGINE_BACKGROUND_BACKOFF": "0.05",
}
"""Memory has no room, so that what can be condensed is."""
BLOCK = """
[[block]]
name = "Weather"
text = "It rains in {}."
"""
REPLIES = """
[[reply]]
match = { schema = "world_chapter_lock" }
fault = "server_error"
times = 1
[[reply]]
match = { schema = "text", model = "o4-mini" }
fault = "cut"
times = 1
[[reply]]
match = { schema = "turn_delta" }
fault = "time_out"
times = 1
[[reply]]
match = { schema = "condense" }
fault = "time_out"
times = 1
[[reply]]
match = { schema = "condense" }
[reply.payload]
memory_type = "turn_delta"
range = {}
location_updates = { where = "", notable_environment_changes = [] }
major_events = [{ event = "in short", cause = "", effect = "", participants = [] }]
character_actions = []
state_changes = []
relationship_shifts = []
items_clues_discovered = []
unresolved_threads = []
canon_locks = []
contradictions_or_questions = []
[[reply]]
match = { schema = "text", model = "gpt-5.2" }
fault = "rate_limited"
retry_after = 0.01
times = 1
"""
"""In every process the first call of each kind fails, so that failures are settled too."""
SCRIPT_STEPS = tuple(
    f"session of the script found or created: {when}" for when in ("before", "under way", "after")
)
MIGRATES = "migration"
"""Steps of this name need a database without a schema; `tests.torture.kills.kill_storage` has them."""
MOST_RUNS_IN_VAIN = 3
"""Whole plays in which no order was reached, until the rest of the orders is given up."""


@dataclass(slots=True)
class KillFigures:
    """Figures of the kills."""

    killed: list[Point] = field(default_factory=list)
    unreached: list[Point] = field(default_factory=list)
    runs: int = 0
    looks: int = 0
    rows_seen_again: int = 0
    texts: int = 0
    characters: int = 0
    lost: int = 0
    typed: int = 0
    typed_lost: int = 0
    refused_runs: int = 0
    """Runs that ended with a sentence because the server was killed under them."""

    def __iadd__(self, other: "KillFigures") -> "KillFigures":
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


class Torturer:
    """One machine with its own server, on which things are killed."""

    def __init__(self, home: Machine, seed: int) -> None:
        self.home = home
        self.random = random.Random(seed)
        self.figures = KillFigures()
        self.environment: dict[str, str] = {}
        """What is set for every run of the program."""
        self._reader = Reader()
        self._texts: set[str] = set()
        self._runs = 0
        self._replies = home.write("replies.toml", REPLIES)

    @property
    def server_home(self) -> Path:
        """The home of the private server."""
        return self.home.data / "postgres"

    def run(
        self,
        points: Iterable[Point],
        *arguments: str | Path,
        names_steps: bool = False,
        most_turns: int = MOST_TURNS,
    ) -> tuple["subprocess.CompletedProcess[str]", Report]:
        """Run a command of the program under orders, and return how it ended and what it reported."""
        command, environment, report = self.ordered(
            points, *arguments, names_steps=names_steps, most_turns=most_turns
        )
        with Forked(command[2:], environment, self.home.work, main=DYING) as process:
            said = process.communicate(timeout=PATIENCE)
        ended = subprocess.CompletedProcess(command, process.returncode, *said)
        done = self.take_in(report)
        self._judge(ended, done)
        return ended, done

    def ordered(
        self,
        points: Iterable[Point],
        *arguments: str | Path,
        names_steps: bool = False,
        most_turns: int = MOST_TURNS,
    ) -> tuple[list[str | Path], dict[str, str], Path]:
        """Return the command that runs the program under orders, its environment, and where it reports."""
        self._runs += 1
        report = self.home.work / f"report-{self._runs}"
        seed = self.random.getrandbits(32)
        orders = Orders(self.server_home, report, seed, tuple(points), names_steps, most_turns)
        file = self.home.work / f"orders-{self._runs}"
        orders.write(file)
        command = [sys.executable, "-m", DYING, file, "--", *arguments]
        ours = {"PYTHONPATH": str(ROOT), "STORYENGINE_SUMMARY_BACKOFF": "0.05"}
        return command, {**self.home.environment, **ours, **self.environment}, report

    def take_in(self, report: Path) -> Report:
        """Count what a run reported."""
        done = Report.read(report)
        self.figures.runs += 1
        self.figures.killed += done.killed
        self._texts.update(done.texts)
        return done

    def _judge(self, ended: "subprocess.CompletedProcess[str]", done: Report) -> None:
        """A program dies only by our hand; without a server it may refuse, with a sentence."""
        if ended.returncode == -signal.SIGKILL:
            assert done.killed, "somebody else killed it"
        elif ended.returncode:
            assert any(point.victim is not Victim.PROGRAM for point in done.killed), ended.stderr
            assert "Traceback" not in ended.stderr + ended.stdout, ended.stderr
            assert "went wrong" not in ended.stderr, f"{ended.stderr}\n{self.log()}"
            self.figures.refused_runs += 1

    def log(self) -> str:
        """Return the end of the program's log."""
        file = self.home.data / "logs" / "storyengine.log"
        return file.read_text()[-4_000:] if file.exists() else ""

    def look(self, *, only: UUID | None = None) -> None:
        """Have the reader look at what is stored now, at one session or all; the server is started for it."""
        server = EmbeddedServer(self.server_home)
        url = server.acquire(PATIENCE)
        try:
            lost = self._reader.check(plain_url(url), self._texts, only=only)
        finally:
            server.release()
        self.figures.lost += lost
        assert lost == 0, f"{lost} characters that were confirmed are gone"

    def forget(self) -> None:
        """Delete the stored data on purpose."""
        self.figures.looks += self._reader.looks
        self.figures.rows_seen_again += self._reader.rows
        self.figures.texts += len(self._texts)
        self.figures.characters += sum(map(len, self._texts))
        self._reader = Reader()
        self._texts.clear()

    def close(self) -> KillFigures:
        """Return the figures, once all is done."""
        self.forget()
        return self.figures


class Play:
    """Kills a play of a chapter at each of these points, and plays every chapter to its end.

    A long chapter is summarised early; in each process the first of these summaries fails, and the prompt
    goes with the story before it shortened. `is_condensing` has old memory told again in fewer words.
    """

    def __init__(self, torturer: Torturer, *, is_long: bool = False, is_condensing: bool = False) -> None:
        self._torturer = torturer
        self._chapters = 0
        self._more, self._prompts = (LONG, LONG_PROMPTS) if is_long else ("", PROMPTS)
        if is_condensing:
            self._prompts = CONDENSED_PROMPTS
        self._calls: Counter[str] = Counter()
        """How often models were asked in this chapter, by the kind of request."""
        torturer.environment = CONDENSING if is_condensing else NARROW if is_long else {}

    def steps(self) -> list[str]:
        """Play a chapter that nobody kills, and return the names of all steps in their order."""
        ended, done = self._run(self._new_script(), [], names_steps=True)
        assert ended.returncode == 0, ended.stderr
        return list(dict.fromkeys(done.steps))

    def kill(self, points: Collection[Point]) -> None:
        """Kill at every point, in the order in which a play comes to them."""
        left = list(points)
        in_vain = 0
        while left and in_vain < MOST_RUNS_IN_VAIN:
            script = self._new_script()
            in_vain += 1
            for wanted in self._until_whole(script, left):
                in_vain = 0
                left = [point for point in left if point not in wanted]
        self._torturer.figures.unreached += left

    def _until_whole(self, script: Path, points: Collection[Point]) -> Iterable[list[Point]]:
        left = list(points)
        while True:
            ended, done = self._run(script, left)
            self._torturer.look()
            if done.killed:
                yield done.killed
                left = [point for point in left if point not in done.killed]
            if ended.returncode == 0:
                assert_played(self._torturer, script, self._prompts, self._more, self._calls)
                return

    def _run(
        self, script: Path, points: Collection[Point], *, names_steps: bool = False
    ) -> tuple["subprocess.CompletedProcess[str]", Report]:
        home = self._torturer.home
        arguments: list[str | Path] = ["play", script, "--provider", "scripted"]
        arguments += ["--replies", home.work / "replies.toml"]
        ended, done = self._torturer.run(points, *arguments, "--out", home.out, names_steps=names_steps)
        self._calls.update(done.calls)
        return ended, done

    def _new_script(self) -> Path:
        self._chapters += 1
        self._calls.clear()
        title = f"Tortured {self._chapters}"
        return self._torturer.home.write(
            f"{title}.toml", chapter_script(title, self._prompts, more=self._more) + BLOCK.format(title)
        )


def assert_played(
    torturer: Torturer, script: Path, prompts: int, more: str, calls: Mapping[str, int]
) -> None:
    """The chapter that was killed again and again is whole: prompts once, calls counted, its file."""
    server = EmbeddedServer(torturer.server_home)
    url = server.acquire(PATIENCE)
    try:
        with psycopg.connect(plain_url(url)) as connection:
            [row] = connection.execute(
                "SELECT state, prompt_index, boundary FROM session WHERE title = %s", [script.stem]
            ).fetchall()
            asked = connection.execute(
                "SELECT event.text FROM event JOIN session ON session_id = session.id"
                " WHERE title = %s AND ordinal = 0 ORDER BY event.prompt_index",
                [script.stem],
            ).fetchall()
            drafts = connection.execute(
                "SELECT narrative_draft.text FROM narrative_draft JOIN session ON session_id = session.id"
                " WHERE title = %s",
                [script.stem],
            ).fetchall()
            tries = connection.execute(
                "SELECT kind, sum(attempts) FROM llm_request JOIN session ON session_id = session.id"
                " WHERE title = %s AND kind <> 'narrative' GROUP BY 1",
                [script.stem],
            ).fetchall()
    finally:
        server.release()
    uncounted = {kind: count for kind, count in tries if count < calls[kind]}
    assert not uncounted, f"models were asked more often than the requests say: {calls}, {tries}"
    assert row == ("ENDED", prompts, prompts)
    wanted = [(f"{script.stem}, prompt {number}: what now?{more}",) for number in range(1, prompts + 1)]
    assert asked == wanted, "every prompt once, in its order"
    [(draft,)] = drafts
    assert (torturer.home.out / f"{script.stem}.txt").read_text() == f"{draft.rstrip()}\n"
    assert not list(torturer.home.out.glob(f"{script.stem} (*"))


def all_points(seed: int, *, is_long: bool = False, is_condensing: bool = False) -> list[Point]:
    """Play once, and return a point for every step and victim, in random order.

    Of a long chapter, these are the steps that a short one does not come to, and those of its summaries; of
    one whose memory is condensed, those of the work that does it.
    """
    with machine(is_new=False) as home:
        steps = Play(Torturer(home, seed), is_long=is_long, is_condensing=is_condensing).steps()
    if is_condensing:
        steps = [step for step in steps if "condense" in step]
        assert "condense done: after" in steps, "nothing was condensed"
    if is_long:
        steps = [step for step in steps if "shortened" in step or "summary" in step]
        assert any("shortened" in step for step in steps), "no text was shortened"
        assert "early summary stored: after" in steps, "nothing was summarised early"
    points = [Point(step, victim) for step in steps if not step.startswith(MIGRATES) for victim in Victim]
    random.Random(seed).shuffle(points)
    return points


def script_points() -> list[Point]:
    """Return the points between which a script gets its session, and nothing says yet whose it is."""
    return [Point(step, victim) for step in SCRIPT_STEPS for victim in Victim]


def play_and_kill(
    points: Collection[Point], seed: int, *, is_long: bool = False, is_condensing: bool = False
) -> KillFigures:
    """Kill at every one of these points of a play, and play every chapter to its end."""
    with machine(is_new=False) as home:
        torturer = Torturer(home, seed)
        Play(torturer, is_long=is_long, is_condensing=is_condensing).kill(points)
        return torturer.close()
