"""Kills while who knows what is decided: lines, rolls, presence, secrets and reveals; and between the deltas
of a chunk of which not everyone witnessed all. No answer that is stored is asked for again."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tests.torture.kills.kill_commands import scripted, session_called
from tests.torture.kills.kill_matrix import MOST_RUNS_IN_VAIN, Torturer
from tests.torture.kills.kill_operations import Operation, give, of, points_of
from tests.torture.kills.kill_orders import Point, Report
from tests.torture.kills.kill_storage import clear, play_one, rows, served

_STATE = """
SELECT prompt_index, boundary, present,
    (SELECT count(*) FROM event WHERE session_id = id AND role = 'system'),
    (SELECT count(*) FROM event WHERE session_id = id AND metadata ? 'secret'),
    (SELECT count(*) FROM secret WHERE session_id = id),
    (SELECT array_agg(status ORDER BY prompt_index) FROM event_status WHERE session_id = id),
    (SELECT blocks::text FROM prompt_blocks WHERE session_id = id), title,
    (SELECT array_agg(take ORDER BY prompt_index) FROM canon WHERE session_id = id)
FROM session WHERE id = '{}'
"""
_DELTAS = """
SELECT boundary, canon_version + 1, array(
    SELECT (revision, ordinal)::text FROM memory_block block
    WHERE session_id = id AND type = 'turn_delta' AND revision = canon_version + 1 AND NOT EXISTS (
        SELECT FROM memory_canon kept WHERE kept.session_id = id AND kept.block_id = block.block_id)
), (SELECT count(*) FROM llm_request WHERE session_id = id AND kind = 'summary'
    AND state IN ('pending', 'processing', 'failed')),
    (SELECT count(*) FROM memory_block WHERE session_id = id AND type = 'turn_delta'),
    (SELECT count(*) FROM llm_artifact WHERE session_id = id AND agent_id = 8 AND error_code IS NULL)
FROM session WHERE id = '{}'
"""
"""The boundary, and what is stored of a chunk that is not complete; open summaries; deltas; answers."""
CHUNK: Final = 7
AUDIENCES: Final = 3
"""Everyone, and each of two characters alone."""


_SETTLE: Final = ("operation", "settle", "{}")
_SEND_AGAIN: Final = ("operation", "send again", "{}")
_SCENE: Final = (
    Operation(("operation", "narrate", "{}"), ("line stored",)),
    Operation(("operation", "roll", "{}"), ("roll stored",)),
    Operation(("operation", "mark", "{}"), ("status stored",)),
    Operation(("operation", "write block", "{}"), ("prompt blocks stored",)),
    Operation(("operation", "begin scene", "{}"), ("line stored",)),
    Operation(("operation", "turn", "{}"), ("session stored",)),
    Operation(("operation", "retitle", "{}"), ("session stored",)),
    Operation(("operation", "hide", "{}"), ("secrets stored",)),
    Operation(("operation", "reveal", "{}"), ("secret revealed",), before=(("operation", "hide", "{}"),)),
    Operation(
        ("operation", "ask", "{}"),
        ("prompt begun, secret revealed",),
        before=(("operation", "plan", "{}"),),
        after=(("undo", "{}"),),
    ),
)
_OF_DELTAS: Final = ("delta", "summary", "revisions read")
_MEMORY: Final = (
    Operation(("operation", "complete", "{}"), _OF_DELTAS),
    Operation(("reroll", "{}"), ("take stored, memory withdrawn",), after=(_SETTLE,)),
    Operation(("operation", "rebuild", "{}"), _OF_DELTAS),
    Operation(("undo", "{}"), ("prompt undone, memory withdrawn",)),
)
"""It begins and ends with a chapter of which the last prompt of a chunk is still to be played."""


def kill_scene(torturer: Torturer, most: int | None = None) -> None:
    """Kill each command of the scene when it stores: done whole or not at all, it can be given again."""
    session_id = begin_played(torturer, "On a stage")
    left = points_of(torturer, _SCENE, session_id, most)
    for operation, points in left.items():
        for point in points:
            give(torturer, operation.before, session_id)
            _kill_in_scene(torturer, operation, point, session_id)
            give(torturer, operation.after, session_id)
    end_played(torturer, session_id)


def kill_private_memory(torturer: Torturer, most: int | None = None) -> None:
    """Kill between the deltas of a chunk: what is stored of them is used, and the boundary waits for all."""
    session_id = begin_played(torturer, "Behind their backs")
    give(torturer, (("operation", "tell", "{}"),), session_id)
    left = points_of(torturer, _MEMORY, session_id, most)
    in_vain = 0
    while any(left.values()) and in_vain < MOST_RUNS_IN_VAIN:
        in_vain += 1
        for operation, points in left.items():
            give(torturer, operation.before, session_id)
            if not points:
                give(torturer, (operation.command,), session_id)
            elif _kill_in_memory(torturer, operation, points[-1], session_id):
                points.pop()
                in_vain = 0
            else:
                torturer.random.shuffle(points)  # it was over before it was seen under way
            give(torturer, operation.after, session_id)
    torturer.figures.unreached += [point for points in left.values() for point in points]
    end_played(torturer, session_id)


def begin_played(torturer: Torturer, title: str) -> str:
    """Return a chapter of two prompts that is still played."""
    torturer.home.write("replies.toml", "")
    play_one(torturer, title, until="end of the chapter wanted: before")
    torturer.environment = scripted(torturer)
    return session_called(torturer, title)


def end_played(torturer: Torturer, session_id: str) -> None:
    torturer.look(only=UUID(session_id))
    clear(torturer)
    torturer.environment = {}
    torturer.forget()


def _kill_in_scene(torturer: Torturer, operation: Operation, point: Point, session_id: str) -> None:
    before = _state(torturer, session_id)
    ended, done = torturer.run([point], *of(operation.command, session_id), most_turns=1)
    assert done.killed == [point]
    torturer.look(only=UUID(session_id))
    now = _state(torturer, session_id)
    assert ended.returncode or now != before, "it says that it is done, and it is not"
    # Not the takes: a line ends redo.
    changed = [old != new for old, new in zip(before[:-1], now[:-1], strict=True)]
    if operation.command[1] == "ask":
        # What was sent can be retried; the secret was revealed with it or not at all.
        was_sent = now[4] != before[4]
        give(torturer, (_SEND_AGAIN if was_sent else operation.command,), session_id)
        after = _state(torturer, session_id)
        assert (after[0], after[4]) == (before[0] + 1, before[4] + 1), "a prompt, and its reveal once"
        return
    assert sum(changed) <= 1 + (operation.command[1] == "reveal"), f"{before} became {now}"
    if now == before:
        give(torturer, (operation.command,), session_id)
        assert _state(torturer, session_id) != before


def _kill_in_memory(torturer: Torturer, operation: Operation, point: Point, session_id: str) -> bool:
    """Kill an operation, make the summary that is due, count the calls; return whether it was killed."""
    before, held = _state(torturer, session_id), _parts(torturer, session_id)
    ended, done = torturer.run([point], *of(operation.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    now, parts = _state(torturer, session_id), _parts(torturer, session_id)
    is_same = now == before and parts.deltas == held.deltas
    assert ended.returncode or not is_same, "it says that it is done, and it is not"
    assert _calls(done) <= parts.deltas - held.deltas + 1, "of the calls of one run, one at most was in vain"
    if parts.is_due:
        assert parts.boundary == (CHUNK if "rebuild" in operation.command else 0), (
            "it moves with the last delta"
        )
        settled, report = torturer.run([], *of(_SETTLE, session_id))
        assert settled.returncode == 0, settled.stderr
        assert _calls(report) <= AUDIENCES - parts.stored, f"{parts}, and {_calls(report)} calls"
    elif is_same:
        give(torturer, (operation.command,), session_id)
        is_done = _parts(torturer, session_id).deltas > held.deltas or _state(torturer, session_id) != before
        assert is_done, f"{point} of {operation.command}: {parts}"
    after = _parts(torturer, session_id)
    assert after.answers <= after.deltas, "no delta was paid for twice"
    torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _calls(done: Report) -> int:
    """Return how often a summary was asked for."""
    return done.calls.count("summary")


@dataclass(frozen=True, slots=True)
class _Parts:
    """Stored parts of an incomplete chunk, and whether a summary is still to come."""

    boundary: int
    stored: int
    is_due: bool
    deltas: int
    answers: int


def _parts(torturer: Torturer, session_id: str) -> _Parts:
    with served(torturer) as url:
        [(boundary, _, stored, due, deltas, answers)] = rows(url, _DELTAS.format(session_id))
    assert isinstance(boundary, int)
    assert isinstance(stored, list)
    assert isinstance(deltas, int)
    assert isinstance(answers, int)
    return _Parts(boundary, len(stored), bool(due), deltas, answers)


def _state(torturer: Torturer, session_id: str) -> tuple[int, ...]:
    """Return prompts, boundary, who is present, lines, reveals, secrets, statuses, and takes that count."""
    with served(torturer) as url:
        [found] = rows(url, _STATE.format(session_id))
    return found  # type: ignore[return-value]  # of numbers, but for the takes
