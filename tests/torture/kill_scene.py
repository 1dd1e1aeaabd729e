"""Kills while who knows what is decided: lines, rolls, presence, secrets and reveals; and between the deltas
of a chunk of which not everyone witnessed all. No answer that is stored is asked for again."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tests.torture.kill_commands import scripted, session_called
from tests.torture.kill_matrix import MOST_RUNS_IN_VAIN, Torturer
from tests.torture.kill_orders import Point, Report
from tests.torture.kill_storage import clear, drawn, play_one, rows, served, steps_of

_STATE = """
SELECT prompt_index, boundary, present,
    (SELECT count(*) FROM event WHERE session_id = id AND role = 'system'),
    (SELECT count(*) FROM event WHERE session_id = id AND metadata ? 'secret'),
    (SELECT count(*) FROM secret WHERE session_id = id),
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


@dataclass(frozen=True, slots=True)
class _Deed:
    """A deed that is killed at steps whose names begin so, what comes before it unharmed, and what after."""

    command: tuple[str, ...]
    steps: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[tuple[str, ...], ...] = ()


_SETTLE: Final = ("deed", "settle", "{}")
_SEND_AGAIN: Final = ("deed", "send again", "{}")
_SCENE: Final = (
    _Deed(("deed", "narrate", "{}"), ("line stored",)),
    _Deed(("deed", "roll", "{}"), ("roll stored",)),
    _Deed(("deed", "turn", "{}"), ("session stored",)),
    _Deed(("deed", "hide", "{}"), ("secrets stored",)),
    _Deed(("deed", "reveal", "{}"), ("secret revealed",), before=(("deed", "hide", "{}"),)),
    _Deed(
        ("deed", "ask", "{}"),
        ("prompt begun, secret revealed",),
        before=(("deed", "plan", "{}"),),
        after=(("undo", "{}"),),
    ),
)
_OF_DELTAS: Final = ("delta", "summary", "revisions read")
_MEMORY: Final = (
    _Deed(("deed", "complete", "{}"), _OF_DELTAS),
    _Deed(("reroll", "{}"), ("take stored, memory withdrawn",), after=(_SETTLE,)),
    _Deed(("deed", "rebuild", "{}"), _OF_DELTAS),
    _Deed(("undo", "{}"), ("prompt undone, memory withdrawn",)),
)
"""It begins and ends with a chapter of which the last prompt of a chunk is still to be played."""


def kill_scene(torturer: Torturer, most: int | None = None) -> None:
    """Kill each command of the scene when it stores: done whole or not at all, it can be given again."""
    session_id = _begin(torturer, "On a stage")
    left = _points(torturer, _SCENE, session_id, most)
    for deed, points in left.items():
        for point in points:
            _give(torturer, deed.before, session_id)
            _kill_in_scene(torturer, deed, point, session_id)
            _give(torturer, deed.after, session_id)
    _end(torturer, session_id)


def kill_private_memory(torturer: Torturer, most: int | None = None) -> None:
    """Kill between the deltas of a chunk: what is stored of them is used, and the boundary waits for all."""
    session_id = _begin(torturer, "Behind their backs")
    _give(torturer, (("deed", "tell", "{}"),), session_id)
    left = _points(torturer, _MEMORY, session_id, most)
    in_vain = 0
    while any(left.values()) and in_vain < MOST_RUNS_IN_VAIN:
        in_vain += 1
        for deed, points in left.items():
            _give(torturer, deed.before, session_id)
            if not points:
                _give(torturer, (deed.command,), session_id)
            elif _kill_in_memory(torturer, deed, points[-1], session_id):
                points.pop()
                in_vain = 0
            else:
                torturer.random.shuffle(points)  # it was over before it was seen under way
            _give(torturer, deed.after, session_id)
    torturer.figures.unreached += [point for points in left.values() for point in points]
    _end(torturer, session_id)


def _begin(torturer: Torturer, title: str) -> str:
    """Return a chapter of two prompts that is still played."""
    torturer.home.write("replies.toml", "")
    play_one(torturer, title, until="end of the chapter wanted: before")
    torturer.environment = scripted(torturer)
    return session_called(torturer, title)


def _end(torturer: Torturer, session_id: str) -> None:
    torturer.look(only=UUID(session_id))
    clear(torturer)
    torturer.environment = {}
    torturer.forget()


def _points(
    torturer: Torturer, deeds: tuple[_Deed, ...], session_id: str, most: int | None
) -> dict[_Deed, list[Point]]:
    """Return the points of each deed, in an order of chance; of all together at most `most`."""
    found: dict[_Deed, list[Point]] = {}
    for deed in deeds:
        _give(torturer, deed.before, session_id)
        steps = steps_of(torturer, *_of(deed.command, session_id))
        own = [step for step in steps if step.startswith(deed.steps)]
        assert {step.rpartition(": ")[2] for step in own} >= {"before", "under way", "after"}, steps
        _give(torturer, deed.after, session_id)
        found[deed] = drawn(own, torturer, None)
    order = list(found)
    torturer.random.shuffle(order)
    while most is not None and sum(map(len, found.values())) > most:
        # Each deed keeps its share.
        found[max(order, key=lambda deed: len(found[deed]))].pop()
    return found


def _kill_in_scene(torturer: Torturer, deed: _Deed, point: Point, session_id: str) -> None:
    before = _state(torturer, session_id)
    ended, done = torturer.run([point], *_of(deed.command, session_id), most_turns=1)
    assert done.killed == [point]
    torturer.look(only=UUID(session_id))
    now = _state(torturer, session_id)
    assert ended.returncode or now != before, "it says that it is done, and it is not"
    # Not the takes: a line ends redo.
    changed = [old != new for old, new in zip(before[:-1], now[:-1], strict=True)]
    if deed.command[1] == "ask":
        # What was sent can be retried; the secret was revealed with it or not at all.
        was_sent = now[4] != before[4]
        _give(torturer, (_SEND_AGAIN if was_sent else deed.command,), session_id)
        after = _state(torturer, session_id)
        assert (after[0], after[4]) == (before[0] + 1, before[4] + 1), "a prompt, and its reveal once"
        return
    assert sum(changed) <= 1 + (deed.command[1] == "reveal"), f"{before} became {now}"
    if now == before:
        _give(torturer, (deed.command,), session_id)
        assert _state(torturer, session_id) != before


def _kill_in_memory(torturer: Torturer, deed: _Deed, point: Point, session_id: str) -> bool:
    """Kill a deed, have the chunk summarised that is due, count the calls; return whether it was killed."""
    before, held = _state(torturer, session_id), _parts(torturer, session_id)
    ended, done = torturer.run([point], *_of(deed.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    now, parts = _state(torturer, session_id), _parts(torturer, session_id)
    is_same = now == before and parts.deltas == held.deltas
    assert ended.returncode or not is_same, "it says that it is done, and it is not"
    assert _calls(done) <= parts.deltas - held.deltas + 1, "of the calls of one run, one at most was in vain"
    if parts.is_due:
        assert parts.boundary == (CHUNK if "rebuild" in deed.command else 0), "it moves with the last delta"
        settled, report = torturer.run([], *_of(_SETTLE, session_id))
        assert settled.returncode == 0, settled.stderr
        assert _calls(report) == AUDIENCES - parts.stored, f"{parts}, and {_calls(report)} calls"
    elif is_same:
        _give(torturer, (deed.command,), session_id)
        is_done = _parts(torturer, session_id).deltas > held.deltas or _state(torturer, session_id) != before
        assert is_done, f"{point} of {deed.command}: {parts}"
    after = _parts(torturer, session_id)
    assert after.deltas == after.answers, "every delta was paid for once"
    torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _calls(done: Report) -> int:
    """Return how often a summary was asked for."""
    return done.calls.count("summary")


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is stored of a chunk that is not complete, and whether a summary is still to come."""

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


def _give(torturer: Torturer, commands: tuple[tuple[str, ...], ...], session_id: str) -> None:
    for command in commands:
        ended, _ = torturer.run([], *_of(command, session_id))
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"


def _of(command: tuple[str, ...], session_id: str) -> tuple[str, ...]:
    return tuple(word.format(session_id) for word in command)


def _state(torturer: Torturer, session_id: str) -> tuple[int, ...]:
    """Return prompts, boundary, who is present, lines, reveals, secrets, and the takes that count."""
    with served(torturer) as url:
        [found] = rows(url, _STATE.format(session_id))
    return found  # type: ignore[return-value]  # of numbers, but for the takes
