"""Kills while two paid answers wait for a database that is gone: the next start stores those on the disk."""

from typing import Final
from uuid import UUID

from tests.torture.kills.kill_matrix import Torturer
from tests.torture.kills.kill_operations import give, of
from tests.torture.kills.kill_orders import Point, Victim
from tests.torture.kills.kill_scene import begin_played, end_played
from tests.torture.kills.kill_storage import rows, served

_KEPT: Final = {"answer 1 kept: after": 1, "answer 2 kept: before": 1, "answer 2 kept: after": 2}
"""The steps of the kills, and how many answers must be on the disk by then."""
_ANSWERS: Final = """
SELECT count(*) FROM llm_artifact WHERE session_id = '{}' AND error_code IS NULL AND output_ref IS NOT NULL
"""


def kill_unstored(torturer: Torturer, most: int | None = None) -> None:
    """Kill the server while two answers come, and the program at each step of their keeping."""
    session_id = begin_played(torturer, "In an outage")
    steps = sorted(_KEPT, reverse=True)[:most]
    for step in steps:
        before = _answers(torturer, session_id)
        point = Point(step, Victim.PROGRAM)
        _, done = torturer.run([point], *of(("operation", "answer twice", "{}"), session_id), most_turns=1)
        assert done.killed == [point]
        assert sorted(done.calls) == ["proposal", "reply"]
        torturer.look(only=UUID(session_id))
        reports = give(torturer, (("operation", "tidy", "{}"),), session_id)
        asked = sum(len(report.calls) for report in reports)
        stored = _answers(torturer, session_id) - before
        assert asked <= 2 - _KEPT[step], f"{step}: an answer that was kept is asked for again"
        assert stored >= _KEPT[step], f"{step}: {stored} of two answers are on record"
        assert not list((torturer.home.data / "unstored").glob("*")), "what was kept is stored"
    end_played(torturer, session_id)


def _answers(torturer: Torturer, session_id: str) -> int:
    with served(torturer) as url:
        [(count,)] = rows(url, _ANSWERS.format(session_id))
    assert isinstance(count, int)
    return count
