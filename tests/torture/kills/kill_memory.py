"""Kills while memory goes back with a prompt, or is made anew: takes, undo and redo of the last prompt of a
chunk, a reply corrected by hand, a block rebuilt and edited, a canon lock pinned and struck, a branch with
memory; and while a partial reply is kept."""

from uuid import UUID

from tests.e2e.program import chapter_script
from tests.torture.kills.kill_commands import scripted, session_called
from tests.torture.kills.kill_matrix import MOST_RUNS_IN_VAIN, Torturer
from tests.torture.kills.kill_operations import Command, Operation, give, of, points_of
from tests.torture.kills.kill_orders import Point, Victim
from tests.torture.kills.kill_scene import end_played
from tests.torture.kills.kill_storage import rows, served, steps_of
from tests.torture.operations.operations import CUT_OFF

TITLE, CHUNK = "Remembered", 7
REPLIES = f'[[reply]]\nmatch = {{ schema = "text", last = "{CUT_OFF}" }}\nfault = "cut"\n'
_STATE = (
    "SELECT prompt_index, boundary, canon_version, pinned, struck,"
    " (SELECT array_agg(take ORDER BY prompt_index) FROM canon WHERE session_id = id),"
    " (SELECT count(*) FROM event WHERE session_id = id),"
    " (SELECT count(*) FROM memory_block WHERE session_id = id), (SELECT count(*) FROM session)"
    " FROM session WHERE id = '{}'"
)
"""What counts in the session and is pinned, how much its log and memory hold, and how many sessions exist."""
_ELSEWHERE = ("pen connects", "memory loaded", "writer's lock given back")
"""Steps at which other commands are killed: before an action has stored anything, or after all of it."""


ROUND = (
    Operation(("operation", "rebuild", "{}")),
    Operation(("operation", "edit", "{}")),
    Operation(("operation", "mark lock", "{}")),
    # The command ends with the reply, when the summary that is due then has just begun, or not yet.
    Operation(
        ("reroll", "{}"), after=(("operation", "settle", "{}"),), until="take stored, memory withdrawn: after"
    ),
    Operation(("operation", "ask again", "{}"), after=(("operation", "settle", "{}"),), kinds=("summary",)),
    Operation(("take", "{}", "1"), after=(("operation", "settle", "{}"),)),
    Operation(("undo", "{}")),
    Operation(("redo", "{}"), after=(("operation", "settle", "{}"),)),
    Operation(
        ("operation", "correct reply", "{}"),
        after=(("operation", "settle", "{}"),),
        until="take stored, memory withdrawn: after",
    ),
    Operation(
        ("operation", "keep", "{}"), before=(("operation", "break off", "{}"),), after=(("undo", "{}"),)
    ),
    Operation(("branch", "{}", "--at", str(CHUNK))),
)
"""It begins and ends with a chapter of one chunk that is in memory, at its boundary."""


def kill_memory(torturer: Torturer, most: int | None = None) -> None:
    """Kill each action at the steps that only it has; it is stored completely or not at all."""
    torturer.home.write("replies.toml", REPLIES)
    torturer.environment = scripted(torturer)
    script = torturer.home.write(f"{TITLE}.toml", chapter_script(TITLE, CHUNK))
    play = ("play", script, "--out", torturer.home.out)
    ended, done = torturer.run([Point("summary stored: after", Victim.PROGRAM)], *play)
    assert done.killed, ended.stdout + ended.stderr
    session_id = session_called(torturer, TITLE)
    _require_boundary(torturer, session_id)
    common = {*steps_of(torturer, "sessions"), *steps_of(torturer, "operation", "settle", session_id)}
    left = points_of(
        torturer,
        ROUND,
        session_id,
        most,
        lambda step: step not in common and not step.startswith(_ELSEWHERE),
    )
    in_vain = 0
    while any(left.values()) and in_vain < MOST_RUNS_IN_VAIN:
        in_vain += 1
        for operation in ROUND:
            points = left[operation]
            give(torturer, operation.before, session_id)
            if not points:
                give(torturer, (operation.command,), session_id)
            elif _kill(torturer, operation.command, points[-1], session_id):
                points.pop()
                in_vain = 0
            else:
                torturer.random.shuffle(points)  # it was over before it was seen under way
            give(torturer, operation.after, session_id)
        _require_boundary(torturer, session_id)
        torturer.look(only=UUID(session_id))
    torturer.figures.unreached += [point for points in left.values() for point in points]
    ended, _ = torturer.run([], *play)
    assert ended.returncode == 0, ended.stderr
    end_played(torturer, session_id)


def _kill(torturer: Torturer, command: Command, point: Point, session_id: str) -> bool:
    """Kill an operation, and repeat it if it had no effect; return whether the point was reached."""
    before = _state(torturer, session_id)
    ended, done = torturer.run([point], *of(command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    now = _state(torturer, session_id)
    assert ended.returncode or now != before, "it says that it is done, and it is not"
    if now == before:
        give(torturer, (command,), session_id)
        assert _state(torturer, session_id) != before
    return bool(done.killed)


def _state(torturer: Torturer, session_id: str) -> tuple[object, ...]:
    with served(torturer) as url:
        [found] = rows(url, _STATE.format(session_id))
    return found


def _require_boundary(torturer: Torturer, session_id: str) -> None:
    """Every prompt of the chunk counts once, and all of them are in memory."""
    prompts, boundary, _, _, _, takes, *_ = _state(torturer, session_id)
    assert (prompts, boundary) == (CHUNK, CHUNK)
    assert isinstance(takes, list)
    assert len(takes) in (CHUNK, CHUNK + 1), "a prompt that was undone can be redone"
