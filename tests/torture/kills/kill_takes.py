"""Kills while the newest prompt is re-rolled, chosen, undone and redone."""

from uuid import UUID

from tests.torture.kills.kill_commands import session_called
from tests.torture.kills.kill_matrix import Torturer
from tests.torture.kills.kill_orders import Point
from tests.torture.kills.kill_storage import clear, drawn, play_one, rows, served, steps_of

_CANON = (
    "SELECT prompt_index, boundary, (SELECT array_agg(take ORDER BY prompt_index) FROM canon"
    " WHERE session_id = id), (SELECT count(*) FROM event WHERE session_id = id) FROM session WHERE id = '{}'"
)
"""What counts in a session, and how many events its log has."""
_ROUND: tuple[tuple[str, ...], ...] = (("reroll",), ("take", "1"), ("undo",), ("redo",))
"""Commands in an order in which each can be given after the one before."""


def kill_takes(torturer: Torturer, most: int | None = None) -> None:
    """Kill each command at the steps that it has of its own; each is done whole or not at all."""
    play_one(torturer, "Taken back", until="end of the chapter wanted: before")
    session_id = session_called(torturer, "Taken back")
    common = set(steps_of(torturer, "sessions"))
    points: list[tuple[tuple[str, ...], Point]] = []
    for command in _ROUND:
        own = [step for step in steps_of(torturer, *_of(command, session_id)) if step not in common]
        points += [(command, point) for point in drawn(own, torturer, None)]
    for command, point in points if most is None else torturer.random.sample(points, most):
        for earlier in _ROUND[: _ROUND.index(command)]:
            _give(torturer, earlier, session_id)
        _kill(torturer, command, point, session_id)
        for later in _ROUND[_ROUND.index(command) + 1 :]:
            _give(torturer, later, session_id)
    clear(torturer)
    torturer.forget()


def _of(command: tuple[str, ...], session_id: str) -> tuple[str, ...]:
    return (command[0], session_id, *command[1:])


def _give(torturer: Torturer, command: tuple[str, ...], session_id: str) -> None:
    ended, _ = torturer.run([], *_of(command, session_id))
    assert ended.returncode == 0, ended.stderr


def _kill(torturer: Torturer, command: tuple[str, ...], point: Point, session_id: str) -> None:
    before = _canon(torturer, session_id)
    ended, done = torturer.run([point], *_of(command, session_id), most_turns=1)
    assert done.killed == [point]
    torturer.look(only=UUID(session_id))
    now = _canon(torturer, session_id)
    assert ended.returncode or now != before, "it says that it is done, and it is not"
    if now == before:
        _give(torturer, command, session_id)
        assert _canon(torturer, session_id) != before


def _canon(torturer: Torturer, session_id: str) -> object:
    with served(torturer) as url:
        [found] = rows(url, _CANON.format(session_id))
    return found
