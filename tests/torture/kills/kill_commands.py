"""Kills while a chapter is looked after: archived, imported, its save slots kept, restored and let go, and
reset on the screen. Each leaves the chapter as it was or as it was to be, whole, and can be done again."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

import psycopg

from core.domain.ids import new_uuid
from tests.core.exchange.test_export_refusals import signed
from tests.e2e.terminal.game_master import GameMaster
from tests.terminal import Size
from tests.torture.kills.kill_matrix import ROOT, Torturer
from tests.torture.kills.kill_orders import MOST_TURNS, Point, Report, Victim
from tests.torture.kills.kill_storage import clear, drawn, play_one, rows, served, steps_of

_IN_SIGHT = 30.0
"""Seconds that something may take on the screen, its database killed and started again included."""
RESET = "Reset Chapter"
MORE, NIGHT = "I have more to say.", "Night falls."
"""A second reply to a prompt and an event of the system, in a file to import."""
ARCHIVED = "SELECT count(*) FROM session WHERE archived_at IS NOT NULL"
SESSIONS = "SELECT count(*) FROM session"
HALVES = (
    "SELECT id FROM session WHERE (SELECT count(*) FROM event WHERE session_id = id)"
    " <> 2 * prompt_index + CASE WHEN EXISTS"
    f" (SELECT FROM event WHERE session_id = id AND text = '{MORE}') THEN 2 ELSE 0 END"
    " OR branched_from IS NULL AND NOT EXISTS (SELECT FROM narrative_draft WHERE session_id = id)"
    " OR NOT EXISTS (SELECT FROM memory_block WHERE session_id = id)"
)
NAMED = "SELECT count(*) FROM save_slot WHERE number >= 10"


@dataclass(frozen=True)
class CommandTrial:
    """A command, what it changes by one, and the command that takes it back where it cannot be repeated."""

    arguments: tuple[str | Path, ...]
    counted: str
    change: int
    undo: tuple[str | Path, ...] = ()


def kill_commands(torturer: Torturer, most: int | None = None) -> None:
    """Kill each command at the steps that it has of its own."""
    export = torturer.home.work / "looked-after.json"
    play_one(torturer, "Looked after")
    name = session_called(torturer, "Looked after")
    _do(torturer, "slots", "save", name, "Mine")
    _do(torturer, "export", name, "--out", export)
    export.write_bytes(with_more_replies(export.read_bytes()))
    trials = (
        CommandTrial(("archive", name), ARCHIVED, 1, ("restore", name)),
        CommandTrial(("slots", "restore", name, "10"), SESSIONS, 1),
        CommandTrial(("import", export), SESSIONS, 1),
        CommandTrial(("branch", name, "--at", "1"), SESSIONS, 1),
        CommandTrial(("slots", "save", name, "Another"), NAMED, 1, ("slots", "drop", name, "11")),
        CommandTrial(("slots", "drop", name, "10"), NAMED, -1, ("slots", "save", name, "Mine")),
    )
    common = set(steps_of(torturer, "sessions"))
    points: list[tuple[CommandTrial, Point]] = []
    for trial in torturer.random.sample(trials, min(len(trials), most or len(trials))):
        # The first time may do more: a slot that is taken before is not taken of the same content again.
        _do(torturer, *trial.arguments)
        _undo(torturer, trial)
        own = [step for step in steps_of(torturer, *trial.arguments) if step not in common]
        _undo(torturer, trial)
        points += [(trial, point) for point in drawn(own, torturer, None)]
    torturer.random.shuffle(points)
    for trial, point in points[:most]:
        _kill(torturer, trial, point, UUID(name))
    clear(torturer)
    torturer.forget()


def with_more_replies(document: bytes) -> bytes:
    """Return an exported chapter in which a second reply and an event of the system follow the first one."""
    body = json.loads(document)["body"]
    reply = body["events"][1]
    said = {**reply, "id": str(new_uuid()), "ordinal": 2, "slot": 2, "text": MORE, "metadata": {}}
    told = {**said, "id": str(new_uuid()), "ordinal": 3, "slot": None, "role": "system", "text": NIGHT}
    body["events"][2:2] = [said, told]
    return signed(body)


def _kill(torturer: Torturer, trial: CommandTrial, point: Point, session_id: UUID) -> None:
    before = _count_before_kill(torturer, trial, point)
    # What was restored from a slot has no calls of its own, so the reader's rules are not for it.
    torturer.look(only=session_id)
    with served(torturer) as url:
        assert rows(url, HALVES) == [], "half a copy"
    now = _count(torturer, trial)
    assert now in (before, before + trial.change), "half of it was done"
    if now == before:
        _do(torturer, *trial.arguments)
        assert _count(torturer, trial) == before + trial.change
    _undo(torturer, trial)


def _count_before_kill(torturer: Torturer, trial: CommandTrial, point: Point) -> int:
    """Kill, and return what was there before; a step that ends soon is only seen under way early on."""
    most_turns = MOST_TURNS
    while most_turns:
        before = _count(torturer, trial)
        ended, done = torturer.run([point], *trial.arguments, most_turns=most_turns)
        if done.killed:
            assert done.killed == [point]
            return before
        assert ended.returncode == 0, ended.stderr
        _undo(torturer, trial)
        most_turns //= 2
    raise AssertionError(f"{trial.arguments} never came to {point.step}")


def _undo(torturer: Torturer, trial: CommandTrial) -> None:
    if trial.undo:
        _do(torturer, *trial.undo)


def _do(torturer: Torturer, *arguments: str | Path) -> None:
    ended, _ = torturer.run([], *arguments)
    assert ended.returncode == 0, ended.stderr


def _count(torturer: Torturer, trial: CommandTrial) -> int:
    with served(torturer) as url:
        [(count,)] = rows(url, trial.counted)
    assert isinstance(count, int)
    return count


def session_called(torturer: Torturer, title: str) -> str:
    """Return the id of the chapter with this title."""
    with served(torturer) as url:
        [found] = [session for session, name in rows(url, "SELECT id, title FROM session") if name == title]
    assert isinstance(found, UUID)
    return str(found)


def kill_resets(torturer: Torturer, most: int | None = None) -> None:
    """Kill while a chapter is reset on the screen: it is set aside whole, or can be played on as it was."""
    begin_active(torturer, "Learned")
    done = reset_on_screen(torturer, [], partial(_is_archived, torturer, "Learned"), names_steps=True)
    first = done.steps.index("save slot stored: before")
    last = done.steps.index("reset chapter set aside: after")
    steps = list(dict.fromkeys(done.steps[first : last + 1]))
    for number, point in enumerate(drawn(steps, torturer, most)):
        title = f"Reset {number}"
        begin_active(torturer, title)
        reset_on_screen(torturer, [point], partial(_is_archived, torturer, title))
        torturer.look()
        if not _is_archived(torturer, title):
            play_on(torturer, title)
            torturer.look()


def begin_active(torturer: Torturer, title: str) -> None:
    """Have a chapter of two prompts, which the screen opens."""
    torturer.home.write("replies.toml", "")
    (torturer.home.data / "last-session").unlink(missing_ok=True)
    play_one(torturer, title, until="end of the chapter wanted: before")


def reset_on_screen(
    torturer: Torturer, points: list[Point], is_done: Callable[[], bool], *, names_steps: bool = False
) -> Report:
    """Reset at a terminal, until the program is killed or the chapter is set aside."""

    def reset(window: GameMaster) -> None:
        window.press("f2")
        window.wait_for(lambda: _button(window))
        window.click(*_button(window)[0])
        window.wait_for("Confirm")
        # Not by keys: one that comes before the dialog has the focus ends on Cancel.
        window.click(*window.find("Confirm"))

    return on_screen(torturer, points, reset, is_done, "could not be", names_steps=names_steps)


def on_screen(
    torturer: Torturer,
    points: list[Point],
    act: Callable[[GameMaster], None],
    is_done: Callable[[], bool],
    refused: str,
    *,
    names_steps: bool = False,
) -> Report:
    """Act at a terminal, until the program is killed, what was wanted is done, or the screen refuses it."""
    # One turn: a step that ends soon would be over before it was seen under way.
    command, environment, report = torturer.ordered(points, names_steps=names_steps, most_turns=1)
    environment |= scripted(torturer)
    with GameMaster(torturer.home, environment, program=command, size=Size(100, 50)) as window:
        window.wait_for("━ To ")
        act(window)
        deadline = time.monotonic() + _IN_SIGHT
        while window.process.poll() is None and time.monotonic() < deadline:
            # What is stored can be seen before the step behind it is reached.
            if is_done() and len(Report.read(report).killed) == len(points):
                break
            if points and points[0].victim is Victim.POSTGRES and refused in window.text:
                break  # it says so, and the chapter is as it was
            time.sleep(0.1)  # between two questions to another process
        window.close()
    done = torturer.take_in(report)
    assert done.killed == points, f"{points} was not come to:\n{window.text}"
    return done


def _button(window: GameMaster) -> list[tuple[int, int]]:
    """Return where the button is, below the sentence that names it."""
    lines = enumerate(window.text.split("\n"))
    return [(line.find(RESET), y) for y, line in lines if RESET in line and "Locked" not in line]


def play_on(torturer: Torturer, title: str) -> None:
    """Open a chapter whose reset was cut short, and play a prompt."""
    prompts = f"SELECT prompt_index FROM session WHERE title = '{title}' AND state = 'ACTIVE'"
    with GameMaster(torturer.home, scripted(torturer)) as window:
        window.wait_for("F1 Help")
        window.wait_for(title)
        window.wait_for("━ To ")
        window.prompt("Who is still here?")
        window.wait_for("3) Who is still here?")
        window.wait_while("is writing")
        deadline = time.monotonic() + _IN_SIGHT
        while True:
            with served(torturer) as url:
                if rows(url, prompts) == [(3,)]:
                    return
            assert time.monotonic() < deadline, window.text
            time.sleep(0.1)  # between two questions to another process


def scripted(torturer: Torturer) -> dict[str, str]:
    """Return what has the screen answered by the script."""
    replies = torturer.home.work / "replies.toml"
    ours = {"PYTHONPATH": str(ROOT), "STORYENGINE_PROVIDER": "scripted"}
    return {**ours, "STORYENGINE_SCRIPT": str(replies)}


def _is_archived(torturer: Torturer, title: str) -> bool:
    query = f"SELECT 1 FROM session WHERE title = '{title}' AND archived_at IS NOT NULL"
    with served(torturer) as url:
        try:
            return rows(url, query) == [(1,)]
        except psycopg.OperationalError:  # killed in this moment
            return False
